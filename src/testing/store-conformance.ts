/**
 * What every store must do, as vitest tests for adapters of ours and of others.
 *
 * @example
 * storeConformance({ name: "memory", create: () => memoryStore() });
 */
import { describe, test } from "vitest";
import type { Store } from "../store/store.ts";
import { appendCases } from "./store-append-cases.ts";
import type { Reopen } from "./store-case.ts";
import { leaseCases } from "./store-lease-cases.ts";
import { queryCases } from "./store-query-cases.ts";
import { sweepCases } from "./store-sweep-cases.ts";

/** Something a conformance suite is run against. */
export interface Conformance<T> {
  readonly name: string;
  /** A fresh, empty one for each test. */
  create(): T | Promise<T>;
  /** Tests it cannot pass, and why. The reason is printed. */
  readonly skip?: readonly { readonly test: string; readonly reason: string }[] | undefined;
}

/** A store under test. */
export interface StoreConformance extends Conformance<Store> {
  /** Another store over what an open one has stored, as a new process would open it after the first one died. Left out by stores that keep nothing. */
  reopen?: Reopen;
}

/** Registers the tests of the store contract. A skip that names no test is an error. */
export function storeConformance(subject: StoreConformance): void {
  const cases = [...appendCases, ...leaseCases, ...queryCases, ...sweepCases];
  for (const skipped of subject.skip ?? []) {
    if (!cases.some(({ name }) => name === skipped.test))
      throw new Error(`The store suite has no test "${skipped.test}" that could be skipped.`);
  }
  describe(`store contract: ${subject.name}`, () => {
    for (const { name, run, reopens } of cases) {
      const reason =
        subject.skip?.find((skipped) => skipped.test === name)?.reason ??
        (reopens && !subject.reopen ? "it keeps nothing, so it cannot be opened again" : undefined);
      if (reason !== undefined) {
        test.skip(`${name} (skipped: ${reason})`, () => {});
        continue;
      }
      test(name, async () => {
        await using store = await subject.create();
        await run(store, (old) => subject.reopen?.(old) ?? Promise.reject(new Error("reopen is missing")));
      });
    }
  });
}
