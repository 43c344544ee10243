/** Tells when nothing moves any more: a resumed program that does not ask for what was recorded would wait for ever. */
export class Stillness {
  readonly #ms: number;
  readonly #onStill: () => void;
  #timer: NodeJS.Timeout | undefined;
  #last = 0;
  #stopped = false;
  /** How much of the runtime's own work is under way. */
  #working = 0;

  constructor(ms: number, onStill: () => void) {
    this.#ms = ms;
    this.#onStill = onStill;
  }

  watch(): void {
    if (this.#stopped || this.#timer !== undefined) return;
    this.#last = performance.now();
    this.#arm(this.#ms);
  }

  moved(): void {
    this.#last = performance.now();
  }

  /** Nothing is still while the runtime itself works, however long that takes. */
  async during<T>(work: Promise<T>): Promise<T> {
    this.#working++;
    try {
      return await work;
    } finally {
      this.#working--;
      this.moved();
    }
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #arm(ms: number): void {
    this.#timer = setTimeout(() => {
      // A long synchronous piece of user code also looks still: look again after what it left behind has run.
      setImmediate(() => setImmediate(() => this.#look()));
    }, ms);
  }

  #look(): void {
    if (this.#stopped) return;
    const left = this.#working > 0 ? this.#ms : this.#ms - (performance.now() - this.#last);
    if (left > 0) this.#arm(left);
    else {
      this.#timer = undefined;
      this.#onStill();
    }
  }
}
