/** Where a store is, as people may read it: never with a password. */
import { resolve } from "node:path";
import { placeOfDatabase, storeTablesOf } from "../store/postgres-upkeep.ts";
import { storeFileOf } from "../store/sqlite-upkeep.ts";
import type { Store } from "../store/store.ts";

export function placeOf(store: Store): string {
  const tables = storeTablesOf(store);
  return tables === undefined ? (storeFileOf(store)?.path ?? "a store of its own") : `${tables.place}, schema ${tables.schema}`;
}

/** Where a store is that a program or the environment names; nothing is opened for this. */
export function placeNamed(store: Store | string): string {
  if (typeof store !== "string") return placeOf(store);
  const [, scheme] = /^([a-z]+):\/\//.exec(store) ?? [];
  if (scheme === undefined) return store === "memory" ? "in memory" : resolve(store);
  return scheme.startsWith("postgres") ? databasePlace(store) : `${scheme}://…`;
}

/** What is no address is refused by whoever opens it. */
function databasePlace(url: string): string {
  try {
    return placeOfDatabase(url);
  } catch {
    return "a PostgreSQL database";
  }
}
