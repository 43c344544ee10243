/** Reads bodies within a limit: what is larger is refused as soon as it is known to be, whether its length was said or not. */
import { RathError } from "../session/errors.ts";
import { parseStrictly } from "./strict-json.ts";

/** A call without a body says nothing: that is the object without fields, and does where none is required. */
export async function readJson(request: Request, most: number, signal?: AbortSignal): Promise<unknown> {
  const type = request.headers.get("content-type") ?? "";
  const isJson = /^application\/json\s*(;|$)/i.test(type);
  if (!isJson && type !== "") throw notJson(type);
  const bytes = await readBytes(request, most, signal);
  if (bytes.length === 0) return {};
  if (!isJson) throw notJson(type);
  return parseStrictly(bytes);
}

function notJson(type: string): RathError {
  return new RathError("request.invalid", `The body must be application/json, not ${JSON.stringify(type.slice(0, 100))}.`);
}

export async function readBytes(request: Request, most: number, signal?: AbortSignal): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of bodyOf(request, most, signal)) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** The pieces of a body as they come, until the signal. */
export async function* bodyOf(request: Request, most: number, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
  const { headers, body } = request;
  if (!/^(?:identity)?$/i.test(headers.get("content-encoding") ?? ""))
    throw new RathError("request.invalid", "The body is compressed, which this server does not take: send it as it is.");
  if (Number(headers.get("content-length") ?? 0) > most) throw tooLarge(most);
  const reader = body?.getReader();
  if (reader === undefined) return;
  const stop = (): void => void reader.cancel(signal?.reason).catch(() => {});
  signal?.addEventListener("abort", stop);
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (signal?.aborted) throw signal.reason;
      if (done) return;
      bytes += value.length;
      if (bytes > most) throw tooLarge(most);
      yield value;
    }
  } catch (error) {
    if (RathError.is(error)) throw error;
    throw new RathError("request.invalid", "The body broke off before it was complete.", { cause: error });
  } finally {
    signal?.removeEventListener("abort", stop);
    // What is left of it is not waited for.
    void reader.cancel().catch(() => {});
  }
}

function tooLarge(most: number): RathError {
  return new RathError("request.too-large", `The body is larger than the ${most} bytes this server takes.`, { details: { limit: most } });
}
