/**
 * What one reader of a stream is still to be sent, never more than its bound. Whoever reads from the past waits for room; what
 * happens now cannot wait: a reader that is too slow for it is told so, and let go.
 */
import { RathError } from "../session/errors.ts";
import { failure } from "./sse.ts";

export interface OutboxOptions {
  /** Bytes that may wait. */
  readonly most: number;
  /** How long a reader that was let go may take to read why. */
  readonly farewellMs?: number | undefined;
  /** Called once, when it has ended or the reader has left. */
  readonly onOver: () => void;
}

const writtenAtOnce = 64 * 1024;

export class Outbox {
  readonly body: ReadableStream<Uint8Array>;
  readonly #options: OutboxOptions;
  #queue: Uint8Array[] = [];
  #bytes = 0;
  /** Nothing more is taken; what is queued is still sent. */
  #ending = false;
  #over = false;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #arrived: () => void = () => {};
  #emptied: () => void = () => {};
  #farewell: NodeJS.Timeout | undefined;

  constructor(options: OutboxOptions) {
    this.#options = options;
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => this.#pull(),
        cancel: () => this.#finish(),
      },
      // Nothing is kept there: what waits, waits here and is counted.
      { highWaterMark: 0 },
    );
  }

  /** Takes nothing more. */
  get closed(): boolean {
    return this.#ending || this.#over;
  }

  get idle(): boolean {
    return this.#queue.length === 0;
  }

  /** Sends what happens now. A reader that has left too much unread is let go. */
  push(chunk: Uint8Array): void {
    if (this.closed) return;
    // One message that is larger than the bound is sent to whoever has read everything else.
    if (this.#bytes > 0 && this.#bytes + chunk.length > this.#options.most) this.#letGo();
    else {
      this.#queue.push(chunk);
      this.#bytes += chunk.length;
      this.#arrived();
    }
  }

  /** Resolves when everything was read, or nobody reads any more. */
  async room(): Promise<void> {
    while (!this.closed && this.#bytes > 0)
      await new Promise<void>((resolve) => {
        this.#emptied = resolve;
      });
  }

  /** Ends when what is queued was read, with a last message. */
  end(last?: Uint8Array): void {
    if (this.closed) return;
    if (last !== undefined) this.#queue.push(last);
    this.#close();
  }

  #letGo(): void {
    const error = new RathError(
      "stream.slow",
      `This stream was not read fast enough: more than ${this.#options.most} bytes were waiting. Come back with the id of the last message you got as Last-Event-ID.`,
      { retryable: true },
    );
    this.#queue = [failure(error, (text) => text)];
    this.#bytes = 0;
    this.#close();
  }

  #close(): void {
    this.#ending = true;
    // Who does not read would not read this either, and would keep its connection for ever.
    this.#farewell = setTimeout(() => {
      this.#controller?.error(new Error("the reader did not read"));
      this.#finish();
    }, this.#options.farewellMs ?? 10_000);
    this.#farewell.unref();
    this.#arrived();
    this.#emptied();
  }

  async #pull(): Promise<void> {
    while (this.#queue.length === 0 && !this.closed)
      await new Promise<void>((resolve) => {
        this.#arrived = resolve;
      });
    if (this.#over) return;
    const some = this.#take();
    if (some !== undefined) this.#controller?.enqueue(some);
    if (this.#queue.length > 0) return;
    if (this.#ending) {
      this.#controller?.close();
      this.#finish();
    } else this.#emptied();
  }

  /** As much as is written at once; a message that goes alone is not copied, since others are sent the same bytes. */
  #take(): Uint8Array | undefined {
    let bytes = 0;
    let count = 0;
    while (count < this.#queue.length && (count === 0 || bytes < writtenAtOnce)) bytes += (this.#queue[count++] as Uint8Array).length;
    const taken = this.#queue.splice(0, count);
    this.#bytes -= bytes;
    return taken.length > 1 ? Buffer.concat(taken, bytes) : taken[0];
  }

  #finish(): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#farewell);
    this.#queue = [];
    this.#bytes = 0;
    this.#arrived();
    this.#emptied();
    this.#options.onOver();
  }
}
