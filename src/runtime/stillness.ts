/** Tells when nothing moves any more: a resumed program that does not ask for what was recorded would wait for ever. */
export class Stillness {
  readonly #ms: number;
  readonly #onStill: () => void;
  #timer: NodeJS.Timeout | undefined;
  #last = 0;
  #stopped = false;

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
    const left = this.#ms - (performance.now() - this.#last);
    if (left > 0) this.#arm(left);
    else {
      this.#timer = undefined;
      this.#onStill();
    }
  }
}
