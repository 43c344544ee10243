/**
 * Hands results to the program in one order, live as on resume and replay: one per event-loop turn, recorded ones first and in
 * their recorded order. So `Promise.race`, pools and `.then` chains take the same way again.
 */
import type { Node } from "../session/log.ts";
import type { Recorded } from "./recorded.ts";

interface Waiting {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

export class Delivery {
  recorded: Recorded | undefined;
  readonly #waiting = new Map<Node, Waiting>();
  readonly #live: Node[] = [];
  #scheduled = false;
  #closed = false;
  #released = false;
  #gone: Error | undefined;
  /** A turn passed in which nothing was waiting to be handed over. */
  readonly #onIdle: () => void;
  /** A turn passed that handed something over. */
  readonly #onTurn: () => void;

  constructor(onIdle: () => void, onTurn: () => void) {
    this.#onIdle = onIdle;
    this.#onTurn = onTurn;
  }

  /** Resolves when it is this result's turn. */
  handOver(returned: Node): Promise<void> {
    if (this.#released) return Promise.resolve();
    if (this.#gone !== undefined) return Promise.reject(this.#gone);
    if (this.recorded?.has(returned) !== true) this.#queue(returned);
    this.schedule();
    return new Promise((resolve, reject) => this.#waiting.set(returned, { resolve, reject }));
  }

  get empty(): boolean {
    return this.#live.length === 0;
  }
  /** Something is about to be handed over, or was in this turn: the program may go on. */
  get busy(): boolean {
    return this.#scheduled;
  }

  /** Nothing is handed over any more; `release` hands over at once what is on disk and waits for its turn, `gone` is told to who waits. */
  close(release: boolean, gone?: Error): void {
    this.#closed = true;
    this.#released = release;
    this.#gone = gone;
    for (const { resolve, reject } of this.#waiting.values()) {
      if (release) resolve();
      else if (gone !== undefined) reject(gone);
    }
    this.#waiting.clear();
  }

  schedule(): void {
    if (this.#scheduled || this.#closed) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      if (this.#closed) return;
      const next = this.#next();
      if (next === undefined) return this.#onIdle();
      const { resolve } = this.#waiting.get(next) as Waiting;
      this.#waiting.delete(next);
      resolve();
      this.schedule();
      this.#onTurn();
    });
  }

  #next(): Node | undefined {
    const recorded = this.recorded?.nextDelivery;
    if (recorded === undefined) return this.#live.shift();
    if (!this.#waiting.has(recorded)) return undefined;
    this.recorded?.claim(recorded);
    return recorded;
  }

  /** In the order in which they were recorded: some come here later than others that were recorded after them. */
  #queue(returned: Node): void {
    let at = this.#live.length;
    while (at > 0 && (this.#live[at - 1] as Node).order > returned.order) at--;
    this.#live.splice(at, 0, returned);
  }
}
