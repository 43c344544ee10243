/** What `openrath db` needs to know of a store in a file. */
import { pathOf } from "../sqlite/kept.ts";
import { type DatabaseFile, databaseFile } from "../sqlite/upkeep.ts";
import { storeFormat } from "./migrations/migrations.ts";
import type { Store } from "./store.ts";

export type { DatabaseFile } from "../sqlite/upkeep.ts";

export function storeFile(path: string): DatabaseFile {
  return databaseFile(path, storeFormat, {
    sessions: "SELECT count(*) AS number FROM logs WHERE log = 'session'",
    runs: "SELECT count(*) AS number FROM runs",
    blobs: "SELECT count(*) AS number FROM blobs",
  });
}

/** The file of a store that `sqliteStore` made; it is not opened for this. */
export function storeFileOf(store: Store): DatabaseFile | undefined {
  const path = pathOf(store);
  return path === undefined ? undefined : storeFile(path);
}
