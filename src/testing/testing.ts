/** For tests of programs that use openrath, and of adapters written for it. The suites are vitest tests: they alone need vitest and fast-check. */
export { assertReplay } from "./assert-replay.ts";
export type { Conformance } from "./conformance.ts";
export { fixture } from "./fixture.ts";
export { hashEmbedder } from "./hash-embedder.ts";
export type { ReopenMemory } from "./memory-case.ts";
export { type MemoryConformance, memoryConformance } from "./memory-conformance.ts";
export { sandboxConformance } from "./sandbox-conformance.ts";
export type { Reopen } from "./store-case.ts";
export { type StoreConformance, storeConformance } from "./store-conformance.ts";
export { testRath } from "./test-rath.ts";
