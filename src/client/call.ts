/** One call as a group of the client asks for it: where, with what, and whether it may be made twice. */
import { RathError } from "../session/errors.ts";

export interface Call {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** From `at`: what is in it was escaped. */
  readonly path: string;
  readonly query?: Query | undefined;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as it is, instead of JSON. */
  readonly upload?: { readonly bytes: Upload; readonly type: string } | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** A call that changes something is made once, unless it says that making it again changes nothing more. */
  readonly repeatable?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Bytes to send: at hand, or as they come. */
export type Upload = Uint8Array | Blob | ReadableStream<Uint8Array>;

/** What every call takes beside its own options. */
export interface CallOptions {
  /** Gives up: the call rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
}

/** What a call asks for by name; what is undefined is left out. */
export type Query = object;

/** A path with every value in it escaped. A value that would lead elsewhere is refused: "..", and what is empty. */
export function at(words: TemplateStringsArray, ...values: readonly string[]): string {
  return words.reduce((path, word, index) => `${path}${segment(values[index - 1])}${word}`);
}

function segment(value: unknown): string {
  if (typeof value !== "string" || /^\.{0,2}$/.test(value))
    throw new RathError("value.unsupported", `${JSON.stringify(value)} is no id: give the id that the server gave.`);
  return escaped(value);
}

export function search(query: Query = {}): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [`${escaped(name)}=${escaped(String(value))}`],
  );
  return given.length === 0 ? "" : `?${given.join("&")}`;
}

function escaped(value: string): string {
  try {
    return encodeURIComponent(value);
  } catch {
    throw new RathError("value.unsupported", "A text of this call has a lone surrogate: give a well-formed string.");
  }
}
