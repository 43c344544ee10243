/** Code that takes too long or is stopped from outside is told so, and its effect does not wait for it for ever. */
import { timerMs } from "../session/duration.ts";
import type { Context, Effect } from "../session/host.ts";
import { type InnerContext, reasonOf, whenStopped } from "./effect-context.ts";

/** It took too long, or somebody stopped it. */
export class Interrupted extends Error {
  readonly why: "timeout" | "cancelled";

  constructor(why: "timeout" | "cancelled", message: string) {
    super(message);
    this.why = why;
  }
}

export interface Interruptions {
  readonly timeoutMs: number | undefined;
  readonly signal: AbortSignal | undefined;
  /** How long code that may not be repeated gets to say what became of it. */
  readonly graceMs: number;
  /** The run is over. */
  readonly ending: () => boolean;
}

/** The own time of an effect, or what limits above it leave; models and nested work ask those limits themselves. */
export function timeLimitOf({ timeoutMs, repeat, op }: Effect, { budgets }: Context): number | undefined {
  if (budgets === undefined || repeat === "nested" || op === "model") return timeoutMs;
  // A timer may go off a millisecond early, and the limit must be over when it does.
  const left = budgets.flatMap(({ left: { ms } }) => (ms === undefined ? [] : Math.ceil(ms) + 1));
  return left.length === 0 ? timeoutMs : Math.max(0, Math.min(timeoutMs ?? Number.POSITIVE_INFINITY, ...left));
}

/** What code comes to, or an `Interrupted`. */
export function interruptible(value: Promise<unknown>, inner: InnerContext, how: Interruptions): Promise<unknown> {
  const { timeoutMs, signal, graceMs } = how;
  return new Promise((resolve, reject) => {
    const timers: NodeJS.Timeout[] = [];
    const interrupt = (why: Interrupted["why"], message: string): void => {
      reject(new Interrupted(why, message));
      inner.abort(message);
    };
    const stop = (): void => {
      const reason = reasonOf(signal as AbortSignal);
      if (graceMs === 0) interrupt("cancelled", reason);
      else {
        inner.abort(reason);
        timers.push(setTimeout(() => interrupt("cancelled", reason), graceMs));
      }
    };
    if (timeoutMs !== undefined) {
      timers.push(setTimeout(() => interrupt("timeout", `timed out after ${timeoutMs} ms`), timerMs(timeoutMs)));
      // Nobody waits for what was left behind when the run ended, and no timer keeps the process.
      inner.onAbort(() => how.ending() && timers.forEach(clearTimeout));
    }
    const unlisten = signal === undefined ? () => {} : whenStopped(signal, stop);
    if (signal?.aborted === true) stop();
    value.then(resolve, reject).finally(() => {
      for (const timer of timers) clearTimeout(timer);
      unlisten();
    });
  });
}

/** What comes, or "stopped" as soon as the signal says so. */
export function unless<T>(signal: AbortSignal | undefined, coming: Promise<T>): Promise<T | "stopped"> {
  if (signal === undefined) return coming;
  return new Promise((resolve, reject) => {
    const stop = (): void => resolve("stopped");
    if (signal.aborted) stop();
    coming.then(resolve, reject).finally(whenStopped(signal, stop));
  });
}
