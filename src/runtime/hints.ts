/** What the store tells of changes made by anybody, for those who want to know sooner than by looking. Looking stays the truth. */
import { setTimeout as sleep } from "node:timers/promises";
import { textOfThrown } from "../session/thrown.ts";
import type { News, Wakeups } from "../store/store.ts";
import type { Runtime } from "./runtime.ts";
import type { Services } from "./services.ts";
import { isFinal } from "./worker.ts";

const firstWaitMs = 200;
const longestWaitMs = 60_000;

const known = new WeakMap<Services, Hints>();

/** Of a Rath in this process: one that listens is enough. */
export function hintsOf(runtime: Services): Hints {
  const hints = known.get(runtime) ?? new Hints(runtime);
  known.set(runtime, hints);
  return hints;
}

export class Hints {
  readonly #runtime: Services;
  readonly #listeners = new Set<(news: News) => void>();
  readonly #words = new Set<(words: unknown) => void>();
  readonly #opened = new Set<() => void>();
  readonly #closed = new AbortController();
  #watching: Promise<AsyncDisposable | undefined> | undefined;

  constructor(runtime: Services) {
    this.#runtime = runtime;
  }

  /** Hears of changes until the function it was given back is called. */
  listen(hear: (news: News) => void): () => void {
    this.#listeners.add(hear);
    this.#watching ??= this.#watch();
    return () => this.#listeners.delete(hear);
  }

  /** Hears what others tell, as long as anybody listens to changes; `opened` is called when that begins. */
  onWords(hear: (words: unknown) => void, opened: () => void): void {
    this.#words.add(hear);
    this.#opened.add(opened);
  }

  async close(): Promise<void> {
    this.#closed.abort();
    this.#listeners.clear();
    await (await this.#watching)?.[Symbol.asyncDispose]();
  }

  /** A store that cannot tell now is asked again, less and less often. */
  async #watch(): Promise<AsyncDisposable | undefined> {
    for (let waitMs = firstWaitMs; !this.#closed.signal.aborted; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
      try {
        return await this.#open(waitMs > firstWaitMs);
      } catch (error) {
        if (waitMs === firstWaitMs)
          this.#runtime.warn(
            `The store does not tell of changes yet (${textOfThrown(error)}): they are seen by looking from time to time.`,
          );
        await sleep(waitMs, undefined, { signal: this.#closed.signal, ref: false }).catch(() => {});
      }
    }
    return undefined;
  }

  async #open(late: boolean): Promise<AsyncDisposable | undefined> {
    const store = await this.#runtime.store();
    const watching = await store.watch?.((news) => {
      if (news.words === undefined) this.#tell(news);
      else for (const hear of this.#words) hear(news.words);
    });
    if (watching === undefined) return undefined;
    for (const tell of this.#opened) tell();
    // Whatever happened before was missed.
    if (late) this.#tell({ due: true, logs: [] });
    return watching;
  }

  #tell(news: News): void {
    for (const hear of [...this.#listeners]) hear(news);
  }
}

/** Wake-ups of the store, where it has some. Looking finds what is due all the same, only later. */
export async function openWakeups(runtime: Runtime, worker: string, hear: () => void): Promise<Wakeups | undefined> {
  const store = await runtime.store();
  return store.wakeups?.(hear).catch((error: unknown) => {
    if (isFinal(error)) throw error;
    runtime.warn(
      `Worker ${worker} hears no wake-ups: ${textOfThrown(error).replace(/\.$/, "")}. It looks every ${runtime.times.lookMs} ms.`,
    );
    return undefined;
  });
}
