/** Where a store is, as people may read it: never with a password. */
import { storeFileOf } from "../store/sqlite-upkeep.ts";
import type { Store } from "../store/store.ts";

export function placeOf(store: Store): string {
  return storeFileOf(store)?.path ?? "a store of its own";
}
