/** Looks from time to time, and when the store says so, for runs of this Rath that were woken from outside. */
import type { Hints } from "./hints.ts";
import type { Services } from "./services.ts";

/** What is done about the runs that are concerned. */
interface Concerned {
  /** Whether there are any. */
  any(): boolean;
  /** A run was woken; `held` says that somebody holds it. */
  woken(run: string, held: boolean): Promise<void>;
}

export class Attention {
  readonly #runtime: Services;
  readonly #hints: Hints;
  readonly #concerned: Concerned;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;

  constructor(runtime: Services, hints: Hints, concerned: Concerned) {
    this.#runtime = runtime;
    this.#hints = hints;
    this.#concerned = concerned;
  }

  /** Pays attention until there is nobody left to pay it to. */
  begin(): void {
    if (this.#timer !== undefined || this.#runtime.closed) return;
    const unlisten = this.#hints.listen(({ due }) => due && void this.look());
    this.#timer = setInterval(() => {
      if (this.#concerned.any()) return void this.look();
      clearInterval(this.#timer);
      this.#timer = undefined;
      unlisten();
    }, this.#runtime.times.lookMs);
    this.#timer.unref();
  }

  /** Resolves when who was woken has been seen to. */
  look(): Promise<void> {
    this.#looking ??= this.#look()
      .catch(() => {}) // it is looked for again
      .finally(() => {
        this.#looking = undefined;
      });
    return this.#looking;
  }

  async end(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
  }

  async #look(): Promise<void> {
    if (this.#runtime.closed) return;
    for await (const { id, owner } of (await this.#runtime.store()).runs({ woken: true }))
      await this.#concerned.woken(id, owner !== undefined);
  }
}
