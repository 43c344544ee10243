/** Waiting that ends in time, and when the caller gives up. */
import { setTimeout as sleep } from "node:timers/promises";

/** The same promise, rejected when it takes longer. */
export async function withinTime<T>(work: Promise<T>, ms: number, signal?: AbortSignal): Promise<T> {
  const timer = new AbortController();
  const timeout = sleep(ms, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`it did not answer within ${ms / 1000} s`);
  });
  timeout.catch(() => undefined);
  try {
    return await abortable(Promise.race([work, timeout]), signal);
  } finally {
    timer.abort();
  }
}

/** The same promise, given up when the signal says so. */
export function abortable<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
    if (signal.aborted) onAbort();
  });
}
