/** Where a store is that `sqliteStore` made, and whose it is there; nothing is opened or loaded for this. */
import { pathOf, scopeIn } from "../sqlite/kept.ts";
import type { Store } from "./store.ts";

/** Its file. */
export function storePathOf(store: Store): string | undefined {
  return pathOf(store);
}

/** Its tenant and project. */
export function storeScopeOf(store: Store): ReturnType<typeof scopeIn> {
  return scopeIn(store);
}
