/** A stream as an HTTP response: server-sent events, plain text, or the message stream that AI SDK user interfaces read. */
import type { StreamPart } from "../session/stream.ts";

interface Options {
  readonly format?: "sse" | "text" | "ai-sdk" | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** `isMain` tells the parts of the stream's own branch. A client that leaves stops reading, not the work. */
export function streamResponse(parts: AsyncIterable<StreamPart>, isMain: (part: StreamPart) => boolean, options: Options): Response {
  const format = options.format ?? "sse";
  const lines = format === "text" ? asText(parts, isMain) : format === "ai-sdk" ? asUiMessage(parts, isMain) : asEvents(parts);
  return new Response(toBody(lines), { headers: { ...headersOf[format], "cache-control": "no-cache", ...options.headers } });
}

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
async function* asEvents(parts: AsyncIterable<StreamPart>): AsyncIterable<string> {
  for await (const part of parts) {
    const id = part.type === "event" ? `id: ${part.event.id}\n` : "";
    yield `${id}event: ${part.type}\ndata: ${JSON.stringify(part)}\n\n`;
  }
  yield "event: end\ndata: {}\n\n";
}

async function* asText(parts: AsyncIterable<StreamPart>, isMain: (part: StreamPart) => boolean): AsyncIterable<string> {
  for await (const part of parts)
    if (part.type === "text-delta" && isMain(part)) yield part.restart === true ? `\n${part.text}` : part.text;
}

/** The UI message stream of the AI SDK, version 1. */
async function* asUiMessage(parts: AsyncIterable<StreamPart>, isMain: (part: StreamPart) => boolean): AsyncIterable<string> {
  const data = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;
  let open: "text" | "reasoning" | undefined;
  let count = 0;
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
      case "tool-start":
        yield* close();
        yield data({ type: "tool-input-start", toolCallId: part.call, toolName: part.tool });
        yield data({ type: "tool-input-available", toolCallId: part.call, toolName: part.tool, input: part.input });
        break;
      case "tool-end":
        yield part.outcome.type === "ok"
          ? data({ type: "tool-output-available", toolCallId: part.call, output: part.outcome.value })
          : data({
              type: "tool-output-error",
              toolCallId: part.call,
              errorText: "message" in part.outcome ? part.outcome.message : part.outcome.type,
            });
        break;
      default:
        break;
    }
  }
  yield* close();
  yield data({ type: "finish" });
  yield "data: [DONE]\n\n";
}
