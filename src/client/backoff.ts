/** How long to wait before a call is made again: longer each time, never all at once, and as long as the server asks. */
import { RathError } from "../session/errors.ts";

/** Nobody is kept waiting longer than this between two tries. */
const longestMs = 30_000;

/** Between half and the whole of a time that doubles, so that those who were cut off together do not come back together. */
function backoff(firstMs: number, failures: number): number {
  const whole = Math.min(longestMs, firstMs * 2 ** Math.min(failures, 20));
  return whole * (0.5 + Math.random() / 2);
}

/** What the server asks for, in milliseconds: `Retry-After` is in seconds, or a date. */
export function retryAfter(headers: Headers, now: number): number | undefined {
  const said = headers.get("retry-after");
  if (said === null) return undefined;
  const ms = /^\d+$/.test(said) ? Number(said) * 1000 : Date.parse(said) - now;
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

/** Undefined where waiting is no use: the server asks for more time than anybody should be kept. */
export function waitBefore(error: unknown, firstMs: number, failures: number): number | undefined {
  const asked = RathError.is(error) ? error.details["retryAfterMs"] : undefined;
  if (typeof asked !== "number") return backoff(firstMs, failures);
  return asked > longestMs ? undefined : Math.max(asked, backoff(firstMs, 0));
}

/** Rejects with the reason of the signal as soon as it is aborted. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const over = (): void => {
      signal?.removeEventListener("abort", left);
      resolve();
    };
    const left = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(over, ms);
    if (signal?.aborted) left();
    else signal?.addEventListener("abort", left, { once: true });
  });
}
