/**
 * One connection that listens, for any number of hearers: opened with the first, opened again whenever it breaks, and closed with the
 * last. What is told may be lost.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "./driver.ts";

export interface Hearer {
  /** A connection outside the pool. */
  connect(): Promise<{ readonly client: Client; close(): Promise<void> }>;
  hear(payload: string): void;
  /** Somebody listens again: whatever was told meanwhile was missed. */
  missed(): void;
}

const longestWaitMs = 5000;

export class Channel {
  readonly #name: string;
  readonly #hearers = new Set<Hearer>();
  #listening: Promise<AsyncDisposable> | undefined;

  constructor(name: string) {
    this.#name = name;
  }

  /** Hears until it is disposed of. */
  async join(hearer: Hearer): Promise<AsyncDisposable> {
    this.#hearers.add(hearer);
    for (let joined = false; !joined; ) {
      const first = this.#listening === undefined;
      this.#listening ??= staying(this.#name, hearer, this.#hearers);
      const listening = this.#listening;
      joined = await listening.then(
        () => true,
        (error: unknown) => {
          if (this.#listening === listening) this.#listening = undefined;
          // What kept another hearer from connecting may be its own affair.
          if (!first) return false;
          this.#hearers.delete(hearer);
          throw error;
        },
      );
    }
    return { [Symbol.asyncDispose]: () => this.#leave(hearer) };
  }

  async #leave(hearer: Hearer): Promise<void> {
    if (!this.#hearers.delete(hearer) || this.#hearers.size > 0) return;
    const listening = this.#listening;
    this.#listening = undefined;
    await (await listening)?.[Symbol.asyncDispose]();
  }
}

/** Listens until it is disposed of, whatever breaks. The first connection is the first hearer's, later ones are anybody's who still hears. */
async function staying(name: string, first: Hearer, hearers: ReadonlySet<Hearer>): Promise<AsyncDisposable> {
  const stopped = new AbortController();
  let listening = await listen(name, first, hearers);
  const again = async (): Promise<void> => {
    for (let wait = 50; !stopped.signal.aborted; wait = Math.min(wait * 2, longestWaitMs))
      try {
        const [hearer = first] = hearers;
        listening = await listen(name, hearer, hearers);
        for (const { missed } of hearers) missed();
        return;
      } catch {
        await sleep(wait, undefined, { signal: stopped.signal, ref: false }).catch(() => {});
      }
  };
  const ended = (async () => {
    while (!stopped.signal.aborted) {
      await Promise.race([listening.broken, aborted(stopped.signal)]);
      await listening.close();
      await again();
    }
  })();
  return {
    [Symbol.asyncDispose]: async () => {
      stopped.abort();
      await ended;
      await listening.close();
    },
  };
}

async function listen(
  name: string,
  { connect }: Hearer,
  hearers: ReadonlySet<Hearer>,
): Promise<{ readonly broken: Promise<void>; close(): Promise<void> }> {
  const { client, close } = await connect();
  const broken = new Promise<void>((resolve) => {
    client.on("error", () => resolve());
    client.on("end", () => resolve());
  });
  client.on("notification", ({ payload = "" }) => {
    for (const { hear } of hearers) hear(payload);
  });
  try {
    await client.query({ text: `LISTEN "${name.replaceAll('"', '""')}"` });
  } catch (error) {
    await close().catch(() => {});
    throw error;
  }
  // Who waits for an answer keeps the process alive, who only listens does not.
  client.unref?.();
  return {
    broken,
    close: () => {
      client.ref?.();
      return close().catch(() => {});
    },
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
