/** Memory in one SQLite file: the default of a single machine. See `sqlite-memory.ts` for how it is made. */
import { openExtensible } from "../sqlite/driver.ts";
import type { MemoryStore } from "./memory.ts";
import { memoryOn, type SqliteMemoryOptions } from "./sqlite-memory.ts";
import { loadVectors } from "./sqlite-vectors.ts";

export type { SqliteMemoryOptions } from "./sqlite-memory.ts";

/**
 * Memory in the file at `path`, which is made (0600, its folder 0700) by the first write. Any number of processes may have it
 * open. Vectors are compared by sqlite-vec where that package is installed.
 *
 * @example
 * await using memory = sqliteMemory(".openrath/memory.db");
 * const hits = await memory.search({ text: "how are tests run?", within: ["memory://project/"], limit: 5 });
 */
export function sqliteMemory(path: string, options: SqliteMemoryOptions = {}): MemoryStore {
  return memoryOn(path, options, { open: openExtensible, loadVectors });
}
