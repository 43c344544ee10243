/**
 * Follows a session as it goes on: the events of its log and of every log that comes from it, whoever appends them. The store is
 * looked at from time to time, sooner where it tells of changes. No event comes twice, none is left out, parents come first.
 */
import { rowOf } from "../runtime/load.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { envelopeOf } from "../session/codec.ts";
import { RathError } from "../session/errors.ts";
import type { LogRow, Store, StoredEvent } from "../store/store.ts";

export interface FollowOptions {
  readonly signal?: AbortSignal | undefined;
  /** Hears why the store cannot be read; it is tried again. */
  readonly onTrouble?: ((error: Error) => void) | undefined;
  readonly pollMs?: number | undefined;
}

/** Transactions may be seen in another order than they began: rows this young are looked at again. */
const graceMs = 10_000;
/** Looking takes no more than this share of the time. */
const share = 10;

/** One look: what was not seen before, parents first; nothing when nothing happened. */
export type Look = readonly StoredEvent[];

/** The first look is everything there is. Ends when the signal says so. */
export async function* follow(runtime: Runtime, session: string, options: FollowOptions = {}): AsyncGenerator<Look, void> {
  const { signal, onTrouble, pollMs = 250 } = options;
  const following = new Following(await runtime.store(), runtime, session);
  const bell = new Bell(signal);
  const watching = await (await runtime.store()).watch?.(({ logs }) =>
    logs.length === 0 || following.concerns(logs) ? bell.ring() : undefined,
  );
  try {
    while (signal?.aborted !== true) {
      const start = performance.now();
      let look: Look | undefined;
      try {
        look = await following.look();
      } catch (error) {
        // A store that restarts comes back. What was seen stays seen.
        if (!RathError.is(error) || (!error.retryable && error.code !== "store.unavailable")) throw error;
        onTrouble?.(error);
      }
      if (look !== undefined) yield look;
      await bell.rung(Math.max(pollMs, (performance.now() - start) * share));
    }
  } finally {
    await watching?.[Symbol.asyncDispose]();
  }
}

class Following {
  readonly #store: Store;
  readonly #runtime: Runtime;
  /** The newest step that was seen of each log that is followed. */
  readonly #steps = new Map<string, number>();
  readonly #seen = new Set<string>();
  /** Events that stand on others which were not seen yet. */
  #held: StoredEvent[] = [];
  /** Rows that were listed, with when: the oldest young one is where the next listing begins. */
  #young: { readonly id: string; readonly at: number }[] = [];
  #after: string | undefined;

  constructor(store: Store, runtime: Runtime, session: string) {
    this.#store = store;
    this.#runtime = runtime;
    this.#steps.set(session, -1);
  }

  /** A log nobody knows yet may be a new fork. */
  concerns(logs: readonly string[]): boolean {
    return logs.some((log) => this.#steps.has(log) || !this.#young.some(({ id }) => id === log));
  }

  async look(): Promise<Look> {
    await this.#findForks();
    const found = this.#held;
    this.#held = [];
    for (const [log, step] of this.#steps)
      for await (const event of this.#store.events({ session: log, from: step + 1 })) {
        found.push(event);
        this.#steps.set(log, event.step);
      }
    // An event is always a step after its parents.
    found.sort((a, b) => a.step - b.step);
    const look: StoredEvent[] = [];
    for (const event of found) {
      if (await this.#isReady(event)) {
        this.#seen.add(event.id);
        look.push(event);
      } else this.#held.push(event);
    }
    return look;
  }

  async #findForks(): Promise<void> {
    const now = performance.now();
    const known = new Set(this.#young.map(({ id }) => id));
    for await (const row of this.#store.sessions({ log: "session", after: this.#after })) {
      if (row.parent !== undefined && this.#steps.has(row.parent) && !this.#steps.has(row.id)) this.#steps.set(row.id, -1);
      if (!known.has(row.id)) this.#young.push({ id: row.id, at: now });
    }
    const old = this.#young.findLastIndex(({ at }) => now - at > graceMs);
    if (old < 0) return;
    this.#after = this.#young[old]?.id;
    this.#young = this.#young.slice(old + 1);
  }

  /** Parents in logs that are not followed, of a session that was merged, are not waited for. */
  async #isReady(event: StoredEvent): Promise<boolean> {
    const { parents } = envelopeOf(this.#runtime.platform, event);
    const missing = parents.filter((parent) => !this.#seen.has(parent));
    for await (const parent of missing.length === 0 ? [] : this.#store.events({ ids: missing })) {
      if (await this.#isFollowed(parent.session)) return false;
    }
    return true;
  }

  /** Or will be, as soon as it is listed. */
  async #isFollowed(log: string): Promise<boolean> {
    for (let id: string | undefined = log; id !== undefined; ) {
      if (this.#steps.has(id)) return true;
      const row: LogRow | undefined = await rowOf(this.#store, id);
      id = row?.parent;
    }
    return false;
  }
}

/** Waits for a time, or until somebody rings. */
class Bell {
  #rung = false;
  #wake: () => void = () => {};
  readonly #signal: AbortSignal | undefined;

  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
    signal?.addEventListener("abort", () => this.ring(), { once: true });
  }

  ring(): void {
    this.#rung = true;
    this.#wake();
  }

  async rung(ms: number): Promise<void> {
    if (!this.#rung && this.#signal?.aborted !== true)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    this.#rung = false;
    this.#wake = () => {};
  }
}
