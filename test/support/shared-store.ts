import { memoryStore } from "../../src/store/memory.ts";
import type { Store } from "../../src/store/store.ts";

/** A memory store that several Raths open one after the other: closing one leaves it open. */
export function sharedStore(): Store {
  return new Proxy(memoryStore(), {
    get(target, name, receiver) {
      if (name === Symbol.asyncDispose) return async () => {};
      return Reflect.get(target, name, receiver) as unknown;
    },
  });
}
