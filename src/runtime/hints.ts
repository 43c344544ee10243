/** What the store tells of changes made by anybody, for those who want to know sooner than by looking. Looking stays the truth. */
import { textOfThrown } from "../session/thrown.ts";
import type { News, Wakeups } from "../store/store.ts";
import type { Runtime } from "./runtime.ts";
import type { Services } from "./services.ts";
import { isFinal } from "./worker.ts";

export class Hints {
  readonly #runtime: Services;
  readonly #listeners = new Set<(news: News) => void>();
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

  async close(): Promise<void> {
    this.#listeners.clear();
    await (await this.#watching)?.[Symbol.asyncDispose]();
  }

  async #watch(): Promise<AsyncDisposable | undefined> {
    try {
      const store = await this.#runtime.store();
      return await store.watch?.((news) => {
        for (const hear of [...this.#listeners]) hear(news);
      });
    } catch (error) {
      this.#runtime.warn(`The store does not tell of changes (${textOfThrown(error)}): they are seen by looking from time to time.`);
      return undefined;
    }
  }
}

/** Wake-ups of the store, where it has some. Looking finds what is due all the same, only later. */
export async function openWakeups(runtime: Runtime, worker: string, hear: () => void): Promise<Wakeups | undefined> {
  const store = await runtime.store();
  return store.wakeups?.(hear).catch((error: unknown) => {
    if (isFinal(error)) throw error;
    runtime.warn(`Worker ${worker} hears no wake-ups: ${textOfThrown(error)}. It looks every ${runtime.times.lookMs} ms.`);
    return undefined;
  });
}
