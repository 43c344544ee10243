/**
 * What every memory store must do, as vitest tests for adapters of ours and of others.
 *
 * @example
 * memoryConformance({ name: "volatile", create: () => volatileMemory() });
 */
import { describe, test } from "vitest";
import type { MemoryStore } from "../memory/memory.ts";
import type { ReopenMemory } from "./memory-case.ts";
import { memoryListCases } from "./memory-list-cases.ts";
import { memorySearchCases } from "./memory-search-cases.ts";
import { memoryTextCases } from "./memory-text-cases.ts";
import { memoryWriteCases } from "./memory-write-cases.ts";
import type { Conformance } from "./store-conformance.ts";

/** A memory store under test. */
export interface MemoryConformance extends Conformance<MemoryStore> {
  /** Another store over what an open one has stored, as another process would open it. Left out by stores that keep nothing. */
  reopen?: ReopenMemory;
}

/** Registers the tests of the memory contract. A skip that names no test is an error. */
export function memoryConformance(subject: MemoryConformance): void {
  const cases = [...memoryWriteCases, ...memorySearchCases, ...memoryTextCases, ...memoryListCases];
  for (const skipped of subject.skip ?? []) {
    if (!cases.some(({ name }) => name === skipped.test))
      throw new Error(`The memory suite has no test "${skipped.test}" that could be skipped.`);
  }
  describe(`memory contract: ${subject.name}`, () => {
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
