/** Runtimes and stores with a mistake in them, which the tests beside must notice. */
import { Runtime } from "../../src/runtime/runtime.ts";
import type { Store, Write, Written } from "../../src/store/store.ts";
import type { Mutant } from "./worker-plan.ts";

/** The store as a careless adapter would be. `opened` is the one beneath. */
export function mutateStore(store: Store, opened: Store, mutant: Mutant | undefined): Store {
  // Who knows no epoch of the run does not miss it when it renews.
  const renew: Store["renew"] = async (lease, forMs) => (await store.renew(lease, forMs)) ?? lease;
  if (mutant === "no fencing") return { ...store, renew, append: async (write) => anyEpoch(await store.append(write), opened, write) };
  if (mutant === "epoch per branch")
    return {
      ...store,
      renew,
      append: async (write) => {
        const refused = await store.append(write);
        const again = await anyEpoch(refused, opened, write);
        return again.ok ? again : refused;
      },
    };
  if (mutant === "early ack")
    return {
      ...store,
      append: async (write) => {
        setTimeout(() => void store.append(write), 150);
        return { ok: true };
      },
    };
  return store;
}

/** Only positions are checked: whoever finds the branch as it left it may write. */
async function anyEpoch(written: Written, store: Store, write: Write): Promise<Written> {
  if (written.ok || written.reason === "head") return written;
  return store.append({ ...write, lease: undefined, release: undefined });
}

/** Effects that may not be repeated begin before their call is on disk. */
export function mutateRuntime(mutant: Mutant | undefined): void {
  if (mutant !== "no intent") return;
  const original = Runtime.prototype.perform;
  Runtime.prototype.perform = function (this: Runtime, session, effect) {
    return original.call(this, session, effect.repeat === "once" ? { ...effect, repeat: "safe" } : effect);
  };
}
