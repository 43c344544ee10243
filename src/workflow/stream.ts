/** A stream of what happens. Every reader gets all of it from the beginning; nobody has to read. */
import type { Session } from "../session/session.ts";
import type { Stream, StreamPart } from "../session/stream.ts";
import { streamResponse } from "./stream-response.ts";
import { ToolParts } from "./tool-parts.ts";

interface LiveOptions {
  readonly signal?: AbortSignal | undefined;
  readonly main?: string | undefined;
  /** Takes secrets out of what clients are told of a failure. */
  readonly clean?: ((text: string) => string) | undefined;
}

export class LiveStream<out Output> implements Stream<Output> {
  readonly #parts: StreamPart[] = [];
  readonly #tools = new ToolParts();
  readonly #stop = new AbortController();
  readonly #result: Promise<Session<Output>>;
  #waiting: (() => void)[] = [];
  #over = false;
  #main: string | undefined;
  readonly #clean: (text: string) => string;

  /** Begins at once; the caller's signal stops the work. */
  constructor(
    start: (watch: (part: StreamPart) => void, signal: AbortSignal) => Promise<Session<Output>>,
    { signal, main, clean = (text) => text }: LiveOptions = {},
  ) {
    this.#clean = clean;
    this.#main = main;
    const outer = (): void => this.#stop.abort(signal?.reason);
    if (signal?.aborted === true) outer();
    else signal?.addEventListener("abort", outer, { once: true });
    this.#result = start((part) => this.#push(part), this.#stop.signal).finally(() => {
      signal?.removeEventListener("abort", outer);
      this.#over = true;
      this.#wake();
    });
    this.#result.catch(() => {}); // whoever asks for the result is told; nobody has to
  }

  get text(): AsyncIterable<string> {
    return this.#text();
  }
  result(): Promise<Session<Output>> {
    return this.#result;
  }
  async cancel(reason = "cancelled"): Promise<void> {
    this.#stop.abort(new Error(reason));
    await this.#result.catch(() => {});
  }
  toResponse(
    options: {
      readonly format?: "sse" | "text" | "ai-sdk" | undefined;
      readonly headers?: Readonly<Record<string, string>> | undefined;
    } = {},
  ): Response {
    return streamResponse(this.#all(), (part) => part.session === this.#main, options, this.#result, this.#clean);
  }
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#over) await this.cancel("the stream was disposed");
  }

  /** Who reads to the end is told how the work ended: half an answer must not pass for a whole one. */
  async *[Symbol.asyncIterator](): AsyncIterator<StreamPart> {
    yield* this.#all();
    await this.#result;
  }

  async *#all(): AsyncIterable<StreamPart> {
    for (let at = 0; ; ) {
      const part = this.#parts[at];
      if (part !== undefined) {
        at++;
        yield part;
      } else if (this.#over) return;
      else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** What was said on the stream's own branch; nested work and forks have texts of their own. */
  async *#text(): AsyncIterable<string> {
    for await (const part of this) {
      if (part.type !== "text-delta" || part.session !== this.#main) continue;
      yield part.restart === true ? `\n${part.text}` : part.text;
    }
  }

  #push(part: StreamPart): void {
    this.#main ??= part.session;
    this.#parts.push(part);
    this.#parts.push(...this.#tools.of(part));
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}
