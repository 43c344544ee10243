/** How often anybody may call: so many times in ten seconds with one key, and so many times in a minute with none that is valid. */

import { isIPv6 } from "node:net";
import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";
import { RathError } from "../session/errors.ts";

const seconds = 10;
const mostFailures = 30;
const failureSeconds = 60;

export class Rates {
  readonly #calls: RateLimiterMemory;
  readonly #failures = new RateLimiterMemory({ points: mostFailures, duration: failureSeconds });

  /** Calls a second. */
  constructor(rate: number) {
    this.#calls = new RateLimiterMemory({ points: Math.max(1, Math.floor(rate * seconds)), duration: seconds });
  }

  /** Counts a call of a key, or of an address where there is none; throws when there were too many. */
  async call(key: string | undefined, address: string | undefined): Promise<void> {
    await counted(this.#calls, key ?? networkOf(address), "There were too many calls");
  }

  /**
   * Counts a call that had no valid key; throws when there were too many. Valid keys of the same address are let in all the same: behind a
   * proxy everybody has one address, and a secret of 256 bits cannot be guessed however often one tries.
   */
  async failure(address: string | undefined): Promise<void> {
    await counted(this.#failures, networkOf(address), "There were too many calls without a valid key");
  }
}

async function counted(limiter: RateLimiterMemory, name: string, what: string): Promise<void> {
  try {
    await limiter.consume(name);
  } catch (limit) {
    if (!(limit instanceof RateLimiterRes)) throw limit;
    throw limited(what, Math.max(1, Math.ceil(limit.msBeforeNext / 1000)));
  }
}

export function limited(what: string, retryAfter: number): RathError {
  return new RathError("request.limited", `${what}: try again in ${retryAfter} s.`, { retryable: true, details: { retryAfter } });
}

/** Whoever has one IPv6 address has 2^64 of them. */
function networkOf(address = "unknown"): string {
  if (!isIPv6(address) || address.toLowerCase().startsWith("::ffff:")) return `address ${address}`;
  const [before = "", after] = address.split("%")[0]?.split("::") ?? [];
  const [head, tail] = [before, after ?? ""].map((part) => (part === "" ? [] : part.split(":")));
  const zeros = after === undefined ? 0 : 8 - (head?.length ?? 0) - (tail?.length ?? 0);
  const groups = [...(head ?? []), ...Array.from({ length: zeros }, () => "0"), ...(tail ?? [])];
  return `address ${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":")}::/64`;
}
