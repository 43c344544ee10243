/** The store in one SQLite file: the default of a single machine. See `sqlite-store.ts` for how it is made. */
import { openDatabase } from "../sqlite/driver.ts";
import { type SqliteOptions, storeOn } from "./sqlite-store.ts";
import type { Store } from "./store.ts";

export type { SqliteOptions } from "./sqlite-store.ts";

/**
 * A store in the file at `path`, which is made (0600, its folder 0700) when it is first used. Any number of processes may
 * have it open. Appends waiting in the same turn of the event loop share one commit.
 *
 * @example
 * await using store = sqliteStore(".openrath/sessions.db");
 * for await (const { id, title } of store.sessions({ log: "session" })) console.log(id, title);
 */
export function sqliteStore(path: string, options: SqliteOptions = {}): Store {
  return storeOn(path, options, openDatabase);
}
