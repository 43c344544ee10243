/** Work in slices: synchronous calls on files are several times faster than asynchronous ones, but others need the event loop too. */
export class Slices {
  #began = performance.now();
  readonly #signal: AbortSignal | undefined;

  constructor(signal?: AbortSignal) {
    this.#signal = signal;
    signal?.throwIfAborted();
  }

  /** True when a slice has lasted long enough: then `rest`. */
  get due(): boolean {
    return performance.now() - this.#began > 4;
  }

  /** Lets everybody else run. Rejects when the signal was given. */
  async rest(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.#signal?.throwIfAborted();
    this.#began = performance.now();
  }
}
