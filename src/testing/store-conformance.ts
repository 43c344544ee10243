/**
 * What every store must do, as vitest tests for adapters of ours and of others.
 *
 * @example
 * storeConformance({ name: "memory", create: () => memoryStore() });
 */
import type { Store } from "../store/store.ts";
import { type Conformance, registerReopening } from "./conformance.ts";
import { appendCases } from "./store-append-cases.ts";
import type { Reopen } from "./store-case.ts";
import { eraseCases } from "./store-erase-cases.ts";
import { feedCases } from "./store-feed-cases.ts";
import { leaseCases } from "./store-lease-cases.ts";
import { queryCases } from "./store-query-cases.ts";
import { sweepCases } from "./store-sweep-cases.ts";
import { takeCases } from "./store-take-cases.ts";

/** A store under test. */
export interface StoreConformance extends Conformance<Store> {
  /** Another store over what an open one has stored, as a new process would open it after the first one died. Left out by stores that keep nothing. */
  reopen?: Reopen;
}

/** Registers the tests of the store contract. A skip that names no test is an error. */
export function storeConformance(subject: StoreConformance): void {
  const cases = [...appendCases, ...leaseCases, ...takeCases, ...queryCases, ...feedCases, ...sweepCases, ...eraseCases];
  registerReopening("store", subject, cases);
}
