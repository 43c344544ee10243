/**
 * Writes a stream to a connection. The adapter for Node would keep a promise for every piece of it until it ends, and streams of events
 * last for days.
 */
import type { ServerResponse } from "node:http";
import type { Answer } from "./answer.ts";

/** Ends with the stream, or when the reader leaves. Never rejects: nobody waits for it. */
export async function sendStream(
  { status, headers, body }: Answer & { readonly body: ReadableStream<Uint8Array> },
  outgoing: ServerResponse,
): Promise<void> {
  const reader = body.getReader();
  const left = (): void => void reader.cancel().catch(() => {});
  // Who left before there was an answer is not told of again.
  if (outgoing.destroyed) return left();
  outgoing.on("close", left).on("error", left);
  try {
    outgoing.writeHead(status, headers);
    outgoing.flushHeaders();
    for (let next = await reader.read(); !next.done; next = await reader.read()) if (!outgoing.write(next.value)) await drained(outgoing);
    outgoing.end();
  } catch (error) {
    left();
    outgoing.destroy(error instanceof Error ? error : undefined);
  }
}

function drained(outgoing: ServerResponse): Promise<void> {
  if (outgoing.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const over = (): void => {
      outgoing.off("drain", over).off("close", over);
      resolve();
    };
    outgoing.on("drain", over).on("close", over);
  });
}
