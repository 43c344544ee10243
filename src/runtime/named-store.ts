/** The store of a Rath, as its program or the environment names it. */
import type { Store } from "../store/store.ts";
import type { Rath } from "./rath.ts";

/** What `OPENRATH_STORE` says. */
export function storeOfEnvironment(): string | undefined {
  const address = process.env["OPENRATH_STORE"];
  return address === "" ? undefined : address;
}

const named = new WeakMap<Rath, Store | string>();

/** Said once, by whoever makes a Rath. */
export function nameStore(rath: Rath, store: Store | string | undefined): Rath {
  if (store !== undefined) named.set(rath, store);
  return rath;
}

/** What the program named; undefined where it left that to the environment. */
export function storeNamedBy(rath: Rath): Store | string | undefined {
  return named.get(rath);
}
