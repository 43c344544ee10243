/** What `openrath db` needs to know of a memory in a file. */
import { pathOf } from "../sqlite/kept.ts";
import { type DatabaseFile, databaseFile } from "../sqlite/upkeep.ts";
import type { MemoryStore } from "./memory.ts";
import { memoryFormat } from "./sqlite-format.ts";

export function memoryFile(path: string): DatabaseFile {
  return databaseFile(path, memoryFormat, { memories: "SELECT count(*) AS number FROM items WHERE until IS NULL" });
}

/** The file of a memory that `sqliteMemory` made; it is not opened for this. */
export function memoryFileOf(memory: MemoryStore): DatabaseFile | undefined {
  const path = pathOf(memory);
  return path === undefined ? undefined : memoryFile(path);
}
