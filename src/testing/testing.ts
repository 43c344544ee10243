/** For tests of programs that use openrath, and of adapters written for it. Needs vitest only where a suite is run. */
export { type Conformance, type StoreConformance, storeConformance } from "./store-conformance.ts";
export { testRath } from "./test-rath.ts";
