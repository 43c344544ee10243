import { composeRath } from "../../src/openrath.ts";
import type { RathOptions } from "../../src/rath-options.ts";
import type { Rath } from "../../src/runtime/rath.ts";
import type { Platform } from "../../src/session/platform.ts";
import type { Store } from "../../src/store/store.ts";
import { machine } from "../../src/workspace/machine.ts";

let processes = 0;

/** Closing a Rath on it leaves the store open. */
export function kept(store: Store): Store {
  return new Proxy(store, {
    get: (target, name) => {
      if (name === Symbol.asyncDispose) return async () => {};
      const member: unknown = Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}

/** A Rath of another process, dead for whoever comes later. It waits for nothing longer than a test must. */
export function otherProcess(
  store: Store | string,
  options: RathOptions = {},
  times: object = {},
  on: { readonly platform?: Platform } = {},
): Rath {
  return composeRath(
    { implicitForks: "allow", ...options, store: typeof store === "string" ? store : kept(store) },
    {
      ...on,
      worker: `${machine()}:${1_998_000_000 + processes++}:t`,
      times: { parkGraceMs: 1, closeMs: 50, stillResumeMs: 300, ...times },
    },
  );
}

/** Waits until something holds, and says what when it never does. */
export async function until<T>(what: string, look: () => T | undefined | false | Promise<T | undefined | false>): Promise<T> {
  for (const start = performance.now(); performance.now() - start < 10_000; ) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  throw new Error(`${what} never came`);
}
