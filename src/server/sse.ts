/** Server-sent events: what a stream says, as bytes. */
import { type ErrorCode, RathError } from "../session/errors.ts";

const encoder = new TextEncoder();

/** One message. JSON has no line breaks of its own, so nothing that is said can end the message or begin another. */
export function message(event: string, data: object, id?: string): Uint8Array {
  return encoder.encode(`${id === undefined ? "" : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
}

/** What nobody is told: keeps connections open, or explains to whoever looks at the bytes. */
export function comment(text: string): Uint8Array {
  return encoder.encode(`: ${text}\n\n`);
}

/** What there is to say of something on record that cannot be read. */
export function unreadable(
  runtime: { clean(text: string): string },
  about: { readonly event?: string; readonly by?: string | undefined; readonly session?: string | undefined; readonly run?: string },
  problem: RathError,
  id: string,
): Uint8Array {
  return message("unreadable", { type: "unreadable", ...about, code: problem.code, message: runtime.clean(problem.message) }, id);
}

/** The last message of a stream that cannot go on. */
export function failure(error: unknown, clean: (text: string) => string): Uint8Array {
  const known = RathError.is(error);
  const code: ErrorCode = known ? error.code : "server.failed";
  const text = known ? clean(error.message) : "Something went wrong here. The log of the server says what.";
  // Who is closed while somebody reads is being restarted, or another one goes on.
  const retryable = known && (error.retryable || code === "rath.closed" || code === "store.closed");
  return message("error", { code, message: text, retryable });
}

/** How long a browser waits before it comes back. */
export function retryAfter(ms: number): Uint8Array {
  return encoder.encode(`retry: ${ms}\n\n`);
}
