/** What `openrath db` needs to know of a memory in a database. */
import { type DatabaseTables, tablesOf } from "../postgres/upkeep.ts";
import type { MemoryStore } from "./memory.ts";

/** The tables of a memory that `postgresMemory` made; nothing is connected for this. */
export function memoryTablesOf(memory: MemoryStore): DatabaseTables | undefined {
  return tablesOf(memory);
}
