/**
 * What every memory store must do, as vitest tests for adapters of ours and of others.
 *
 * @example
 * memoryConformance({ name: "volatile", create: () => volatileMemory() });
 */
import type { MemoryStore } from "../memory/memory.ts";
import { type Conformance, registerReopening } from "./conformance.ts";
import type { ReopenMemory } from "./memory-case.ts";
import { memoryEraseCases } from "./memory-erase-cases.ts";
import { memoryListCases } from "./memory-list-cases.ts";
import { memorySearchCases } from "./memory-search-cases.ts";
import { memoryTextCases } from "./memory-text-cases.ts";
import { memoryWriteCases } from "./memory-write-cases.ts";

/** A memory store under test. */
export interface MemoryConformance extends Conformance<MemoryStore> {
  /** Another store over what an open one has stored, as another process would open it. Left out by stores that keep nothing. */
  reopen?: ReopenMemory;
}

/** Registers the tests of the memory contract. A skip that names no test is an error. */
export function memoryConformance(subject: MemoryConformance): void {
  const cases = [...memoryWriteCases, ...memorySearchCases, ...memoryTextCases, ...memoryListCases, ...memoryEraseCases];
  registerReopening("memory", subject, cases);
}
