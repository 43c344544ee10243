/** Where a store is, as people may read it: never with a password. */
import { storeTablesOf } from "../store/postgres-upkeep.ts";
import { storeFileOf } from "../store/sqlite-upkeep.ts";
import type { Store } from "../store/store.ts";

export function placeOf(store: Store): string {
  const tables = storeTablesOf(store);
  return tables === undefined ? (storeFileOf(store)?.path ?? "a store of its own") : `${tables.place}, schema ${tables.schema}`;
}
