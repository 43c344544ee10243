/** Several processes on one store, in one: each has a Rath of its own, works for others, and may die. */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { composeRath } from "../../src/openrath.ts";
import type { RathOptions } from "../../src/rath-options.ts";
import type { Rath } from "../../src/runtime/rath.ts";
import type { Platform } from "../../src/session/platform.ts";
import type { Session } from "../../src/session/session.ts";
import type { Store } from "../../src/store/store.ts";

let processes = 0;
const stops: (() => Promise<void>)[] = [];

/** Ends them, after each test of a file that says so. */
export async function stopped(): Promise<void> {
  for (const stop of stops.splice(0).reverse()) await stop();
}

/** Closing a Rath on it leaves the store open. */
function kept(store: Store): Store {
  return { ...store, [Symbol.asyncDispose]: async () => {} };
}

/** A Rath of another process on the same store; it is taken for dead by whoever comes later only if it says so. */
export function process(store: Store, options: RathOptions = {}, times: object = {}, on: { readonly platform?: Platform } = {}): Rath {
  const rath = composeRath(
    { implicitForks: "allow", ...options, store: kept(store) },
    {
      ...on,
      worker: `elsewhere-${processes++}:1:${randomUUID().slice(0, 8)}`,
      times: { parkGraceMs: 1, closeMs: 50, stillResumeMs: 200, leaseMs: 400, lookMs: 20, ...times },
    },
  );
  stops.push(() => rath.close());
  return rath;
}

/** A process that will die: nobody waits for it afterwards. */
export function mortal(store: Store, options: RathOptions = {}, times: object = {}): Rath {
  const rath = process(store, options, times);
  stops.pop();
  return rath;
}

/** A worker that will die. */
export function doomed(store: Store, options: RathOptions, times: object = {}): void {
  mortal(store, options, times)
    .work()
    .catch(() => {});
}

/** What was said to a session last. */
export function said(session: Session): string {
  return session.messages.at(-1)?.text ?? "";
}

/** Begins to work; gives what ends it. */
export function working(rath: Rath, options: { readonly concurrency?: number; readonly drain?: string } = {}): () => Promise<void> {
  const stop = new AbortController();
  const done = rath.work({ ...options, drain: (options.drain ?? "1s") as "1s", signal: stop.signal });
  const end = async (): Promise<void> => {
    stop.abort();
    await done;
  };
  stops.push(end);
  return end;
}

export async function until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (let left = 400; !(await holds()); left--) {
    if (left === 0) throw new Error(`it never came to this: ${what}`);
    await sleep(10);
  }
}

export const never = (): Promise<never> => new Promise(() => {});

/** The store as a process sees it until it dies; afterwards nothing it does arrives, and nothing is ever answered. */
export function cut(store: Store): { readonly store: Store; cut(): void } {
  let dead = false;
  const guard =
    <A extends unknown[], R>(method: (...args: A) => Promise<R>) =>
    (...args: A): Promise<R> =>
      dead ? never() : method(...args);
  return {
    store: {
      ...store,
      append: guard(store.append),
      claim: guard(store.claim),
      take: guard(store.take),
      renew: guard(store.renew),
      release: guard(store.release),
      [Symbol.asyncDispose]: async () => {},
    },
    cut: () => {
      dead = true;
    },
  };
}

/** The warnings of this package until it is called. */
export function warned(): () => Promise<readonly string[]> {
  const texts: string[] = [];
  const hear = (warning: Error): void => void texts.push(warning.message);
  globalThis.process.on("warning", hear);
  return async () => {
    await sleep(5);
    globalThis.process.off("warning", hear);
    return texts;
  };
}
