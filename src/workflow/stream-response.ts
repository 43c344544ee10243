/** A stream as an HTTP response: server-sent events, plain text, or the message stream that AI SDK user interfaces read. */
import type { Event } from "../session/event.ts";
import type { StreamPart } from "../session/stream.ts";
import { textOfThrown } from "../session/thrown.ts";
import { textOfOutcome } from "../session/views.ts";

interface Options {
  readonly format?: "sse" | "text" | "ai-sdk" | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** `isMain` tells the parts of the stream's own branch. A client that leaves stops reading, not the work. */
export function streamResponse(
  parts: AsyncIterable<StreamPart>,
  isMain: (part: StreamPart) => boolean,
  options: Options,
  result: Promise<unknown>,
  clean: (text: string) => string,
): Response {
  const format = options.format ?? "sse";
  const failure = (): Promise<string | undefined> =>
    result.then(
      () => undefined,
      (error: unknown) => clean(textOfThrown(error)),
    );
  const lines =
    format === "text"
      ? asText(parts, isMain, failure)
      : format === "ai-sdk"
        ? asUiMessage(parts, isMain, failure)
        : asEvents(parts, failure);
  return new Response(toBody(lines), { headers: { ...headersOf[format], "cache-control": "no-cache", ...options.headers } });
}

/** Why the work failed, once it is over. */
type Failure = () => Promise<string | undefined>;

const headersOf = {
  sse: { "content-type": "text/event-stream; charset=utf-8" },
  text: { "content-type": "text/plain; charset=utf-8" },
  "ai-sdk": { "content-type": "text/event-stream; charset=utf-8", "x-vercel-ai-ui-message-stream": "v1" },
} as const;

function toBody(lines: AsyncIterable<string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const iterator = lines[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const next = await iterator.next();
      if (next.done === true) controller.close();
      else controller.enqueue(encoder.encode(next.value));
    },
    async cancel() {
      await iterator.return?.();
    },
  });
}

/** Each event on record is an SSE event whose id is the event's, so that a client can come back with Last-Event-ID. */
async function* asEvents(parts: AsyncIterable<StreamPart>, failure: Failure): AsyncIterable<string> {
  for await (const part of parts) {
    const id = part.type === "event" ? `id: ${part.event.id}\n` : "";
    yield `${id}event: ${part.type}\ndata: ${JSON.stringify(part)}\n\n`;
  }
  const message = await failure();
  yield message === undefined ? "event: end\ndata: {}\n\n" : `event: failed\ndata: ${JSON.stringify({ message })}\n\n`;
}

/** Plain text has no place for an error: the body breaks off, so that nobody takes half an answer for a whole one. */
async function* asText(parts: AsyncIterable<StreamPart>, isMain: (part: StreamPart) => boolean, failure: Failure): AsyncIterable<string> {
  let stopped: string | undefined;
  for await (const part of parts) {
    if (!isMain(part)) continue;
    if (part.type === "text-delta") yield part.restart === true ? `\n${part.text}` : part.text;
    if (part.type === "event") stopped = stoppedBy(part.event, stopped);
  }
  const message = (await failure()) ?? stopped;
  if (message !== undefined) throw new Error(message);
}

/** Why the newest agent could not go on: it does not throw, it stops with the reason. */
function stoppedBy(event: Event, before: string | undefined): string | undefined {
  if (event.kind !== "agent.stopped") return before;
  return event.data.stop === "error" ? (event.data.reason ?? "the agent stopped with an error") : undefined;
}

/** The UI message stream of the AI SDK, version 1. */
async function* asUiMessage(
  parts: AsyncIterable<StreamPart>,
  isMain: (part: StreamPart) => boolean,
  failure: Failure,
): AsyncIterable<string> {
  const data = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;
  let open: "text" | "reasoning" | undefined;
  let count = 0;
  let stopped: string | undefined;
  const close = function* (): Iterable<string> {
    if (open !== undefined) yield data({ type: `${open}-end`, id: String(count) });
    open = undefined;
  };
  yield data({ type: "start" });
  for await (const part of parts) {
    if (!isMain(part)) continue;
    switch (part.type) {
      case "text-delta":
      case "reasoning-delta": {
        const kind = part.type === "text-delta" ? "text" : "reasoning";
        if (open !== kind || (part.type === "text-delta" && part.restart === true)) {
          yield* close();
          open = kind;
          yield data({ type: `${kind}-start`, id: String(++count) });
        }
        yield data({ type: part.type, id: String(count), delta: part.text });
        break;
      }
      case "event": {
        // Also a call that is refused, or taken from a record, is shown before its result: readers know results by their inputs.
        const { event } = part;
        stopped = stoppedBy(event, stopped);
        if (event.kind !== "tool.called") break;
        const call = { toolCallId: event.id, toolName: event.data.name };
        yield* close();
        yield data({ type: "tool-input-start", ...call });
        yield data({ type: "tool-input-available", ...call, input: event.data.input ?? {} });
        break;
      }
      case "tool-end":
        yield part.outcome.type === "ok"
          ? data({ type: "tool-output-available", toolCallId: part.call, output: part.outcome.value ?? null })
          : data({ type: "tool-output-error", toolCallId: part.call, errorText: textOfOutcome(part.outcome) });
        break;
      default:
        break;
    }
  }
  yield* close();
  const errorText = (await failure()) ?? stopped;
  if (errorText !== undefined) yield data({ type: "error", errorText });
  yield data({ type: "finish" });
  yield "data: [DONE]\n\n";
}
