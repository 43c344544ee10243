/**
 * Streams that come back by themselves. What was received is known by its cursor: after a cut, a silence or a restart of the server
 * the next connection goes on behind it, so that nothing on record is missed and nothing comes twice. Read only when asked for more.
 */
import { type ErrorCode, RathError } from "../session/errors.ts";
import { pause, waitBefore } from "./backoff.ts";
import type { Call, CallOptions } from "./call.ts";
import type { Connection } from "./connection.ts";
import { type Message, messagesOf } from "./messages.ts";
import { PartsShown, type Shown } from "./shown.ts";

/**
 * Where a stream begins, and who is told when it has to come back.
 *
 * @example
 * const { project } = connect({ url: "http://127.0.0.1:7284", key: token });
 * const options: StreamOptions = { onOpen: () => console.log("live"), onRetry: ({ error }) => console.log(error.message) };
 * for await (const { type, cursor } of project.stream(options)) console.log(type, cursor);
 */
export interface StreamOptions extends CallOptions {
  /** The cursor of the last part that was seen: what came after it is read. */
  readonly after?: string | undefined;
  /** Told each time a connection stands, for "live" on a screen. */
  readonly onOpen?: (() => void) | undefined;
  /** Told before each new try to connect, for "connecting again…" on a screen. */
  readonly onRetry?: ((retry: StreamRetry) => void) | undefined;
}

/** A stream was cut off, and is about to be opened again. */
export interface StreamRetry {
  readonly error: RathError;
  readonly waitMs: number;
}

/** A part with its place: the cursor to go on after, now or tomorrow. Parts that are not on record have that of the last one that is. */
export type Streamed<Part> = Part & { readonly cursor: string | undefined };

type StreamCall = Pick<Call, "path" | "query">;

/** Opened when it is read, once for each loop over it. Leaving the loop closes the connection. */
export function streamOf<Part extends { readonly type: string }>(
  connection: Connection,
  call: StreamCall,
  options: StreamOptions = {},
  shown: () => Shown = () => new PartsShown(),
): AsyncIterable<Streamed<Part>> {
  return {
    [Symbol.asyncIterator]: () => {
      const left = new AbortController();
      const parts = new Resuming<Part>(connection, call, options, shown(), left.signal).parts();
      return {
        next: () => parts.next(),
        // Also while a part is waited for.
        return: () => {
          left.abort(new Error("the loop was left"));
          return parts.return(undefined);
        },
      };
    },
  };
}

class Resuming<Part extends { readonly type: string }> {
  readonly #connection: Connection;
  readonly #call: Call;
  readonly #options: StreamOptions;
  readonly #shown: Shown;
  readonly #left: AbortSignal;
  /** Of the last message that had one. */
  #cursor: string | undefined;
  /** What the next connection goes on after. */
  #resume: string | undefined;
  /** Tries since something was last heard. */
  #failures = 0;
  /** When something was last heard; undefined before anything was. */
  #heard: number | undefined;

  constructor(connection: Connection, call: StreamCall, options: StreamOptions, shown: Shown, left: AbortSignal) {
    this.#connection = connection;
    this.#options = options;
    this.#shown = shown;
    this.#left = left;
    this.#cursor = options.after;
    this.#resume = options.after;
    this.#call = { ...call, method: "GET", signal: options.signal === undefined ? left : AbortSignal.any([options.signal, left]) };
  }

  async *parts(): AsyncGenerator<Streamed<Part>, undefined> {
    for (;;) {
      try {
        const passed = this.#cursor === this.#resume ? undefined : this.#cursor;
        for await (const message of this.#messages()) {
          if (message.type === "end") return;
          if (message.type === "failed" || message.type === "error") throw failedOf(message);
          this.#heardSomething();
          if (message.id !== undefined && message.id === passed) continue;
          this.#reach(message);
          if (message.type === "open") continue;
          for (const part of this.#shown.parts({ ...message.data, type: message.type }))
            yield { ...part, cursor: this.#cursor } as Streamed<Part>;
        }
        throw new RathError("server.unreachable", "The stream was cut off.", { retryable: true });
      } catch (error) {
        if (this.#left.aborted) return;
        await this.#later(this.#connection.failure(this.#call, error));
      }
    }
  }

  /**
   * The beginning and the end of a tool come right behind the event they follow from, without a place of their own. As long as nothing
   * came behind such an event, it is asked for once more and passed over.
   */
  #reach({ id, data }: Message): void {
    const before = this.#cursor;
    this.#cursor = id ?? before;
    const kind = (data["event"] as { readonly kind?: unknown } | undefined)?.kind;
    this.#resume = typeof kind === "string" && kind.startsWith("tool.") ? before : this.#cursor;
  }

  #messages(): AsyncIterable<Message> {
    const headers = { accept: "text/event-stream", ...(this.#resume === undefined ? {} : { "last-event-id": this.#resume }) };
    return messagesOf(
      this.#connection,
      { ...this.#call, headers },
      {
        opened: () => this.#options.onOpen?.(),
        beat: () => this.#heardSomething(),
      },
    );
  }

  /** Not that a connection opened, nor why it ended: a server that can do no more than that is asked less and less often, and given up. */
  #heardSomething(): void {
    this.#failures = 0;
    this.#heard = Date.now();
  }

  /** Waits before the next try, or says why there is none. */
  async #later(error: unknown): Promise<void> {
    const { retries, backoffMs, patienceMs } = this.#connection;
    if (!RathError.is(error) || !mayPass(error)) throw error;
    const lost = this.#heard === undefined ? this.#failures >= retries : Date.now() - this.#heard > patienceMs;
    const waitMs = lost ? undefined : waitBefore(error, backoffMs, this.#failures++);
    if (waitMs === undefined) throw error;
    this.#shown.cut();
    this.#options.onRetry?.({ error, waitMs });
    try {
      await pause(waitMs, this.#call.signal);
    } catch (reason) {
      if (!this.#left.aborted) throw reason;
    }
  }
}

/** A server that fails is asked again: it may be one that is being restarted. */
function mayPass({ retryable, details: { status } }: RathError): boolean {
  return retryable || (typeof status === "number" && status >= 500);
}

/** Why the server ended a stream: the work failed for good, or the server could not go on, which may pass. It says itself which. */
function failedOf({ type, data }: Message): RathError {
  const { code, message, details, retryable } = (data["error"] ?? data) as Partial<RathError>;
  const known: ErrorCode = typeof code === "string" ? code : "server.failed";
  const passing = type === "error" && /^(?:server|store|rath)\./.test(known);
  const mayPass = typeof retryable === "boolean" ? retryable : passing;
  return new RathError(known, String(message ?? "The stream ended."), { retryable: mayPass, details });
}
