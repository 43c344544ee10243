/** What happens while it happens: parts of a stream. Events are on record; the rest is only shown. */
import type { Event } from "./event.ts";
import type { Outcome } from "./message.ts";
import type { Pending, Session } from "./session.ts";

/** Something that just happened, who did it and on which session. */
export type StreamPart = {
  readonly by: string;
  readonly session: string;
} /** With `restart`, what was shown of this reply was cut off and begins again. */ & (
  | { readonly type: "text-delta"; readonly text: string; readonly restart?: true | undefined }
  | { readonly type: "reasoning-delta"; readonly text: string }
  | { readonly type: "tool-start"; readonly call: string; readonly tool: string; readonly input: unknown }
  | { readonly type: "tool-progress"; readonly call: string; readonly update: unknown }
  | { readonly type: "tool-end"; readonly call: string; readonly outcome: Outcome }
  | { readonly type: "pending"; readonly pending: Pending }
  | { readonly type: "event"; readonly event: Event }
);

/**
 * Started at once; reading it is optional. Leaving a loop stops reading, not the work; `cancel`, the signal or `await using` stop the work.
 * Where the work fails or is cancelled, or its Rath is closed, a loop over the parts or over `text` gets everything until then and rejects
 * with the error that `result` rejects with. Nobody has to read or to ask: what failed unheard is no unhandled rejection.
 */
export interface Stream<out Output = unknown> extends AsyncIterable<StreamPart>, AsyncDisposable {
  /** Only what models say, as it arrives. */
  readonly text: AsyncIterable<string>;
  /** The session at the end, read or not. */
  result(): Promise<Session<Output>>;
  /** Stops the work; what was done stays on record. */
  cancel(reason?: string): Promise<void>;
  /**
   * For a web handler: server-sent events (default), plain text, or the stream that `useChat` of the AI SDK reads. Server-sent
   * events have every part, so also every event on record, with the instructions of agents, inputs of tools and nested work: they are for those who
   * may read the session. Work that fails ends them with the event "failed", by breaking off, or with an error.
   */
  toResponse(options?: {
    readonly format?: "sse" | "text" | "ai-sdk" | undefined;
    readonly headers?: Readonly<Record<string, string>> | undefined;
  }): Response;
}
