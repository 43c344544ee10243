/** Memory in the process that fails when it is told to. */
import type { MemoryStore } from "../../src/memory/memory.ts";
import { volatileMemory } from "../../src/memory/volatile.ts";

export interface FailingMemory extends MemoryStore {
  /** What every call fails with, while it is set. */
  failing: Error | undefined;
}

export function failingMemory(more: Partial<MemoryStore> = {}): FailingMemory {
  const inner = { ...volatileMemory(), ...more };
  const unless = <T>(call: () => T): T => {
    if (store.failing !== undefined) throw store.failing;
    return call();
  };
  const store: FailingMemory = {
    ...inner,
    failing: undefined,
    revision: async () => unless(() => inner.revision()),
    write: async (writes) => unless(() => inner.write(writes)),
    search: async (query) => unless(() => inner.search(query)),
    list: (query) => unless(() => inner.list(query)),
  };
  return store;
}
