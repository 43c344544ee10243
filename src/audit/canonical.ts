/**
 * Is a text canonical JSON (RFC 8785)? Text that is written again as it stands, with its keys in order, is; that is judged without
 * building the canonical text. Whatever looks different is built and compared: integer-like keys, which JavaScript moves, and
 * escapes of surrogates.
 */
import { isUtf8 } from "node:buffer";
import canonicalize from "canonicalize";
import { textOfThrown } from "../session/thrown.ts";

/** The value of a text, or what is wrong with the text. */
export type Read =
  | { readonly value: unknown /** Some object in it has the key `$`. */; readonly marked: boolean }
  | { readonly flaw: string };

/** Reads bytes that must be canonical JSON. */
export function readCanonical(bytes: Uint8Array): Read {
  if (!isUtf8(bytes)) return { flaw: "is not UTF-8" };
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { flaw: "is not JSON" };
  }
  try {
    const seen = { marked: false };
    const same = JSON.stringify(value) === text && !text.includes("\\ud") && inOrder(value, seen);
    if (same) return { value, marked: seen.marked };
    return canonicalize(value) === text ? { value, marked: true } : { flaw: "is not canonical JSON (RFC 8785)" };
  } catch (error) {
    return { flaw: `is not canonical JSON (RFC 8785): ${textOfThrown(error)}` };
  }
}

/** True when the keys of every object come in the order of their UTF-16 units. */
function inOrder(value: unknown, seen: { marked: boolean }): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (Array.isArray(value)) return value.every((inner) => inOrder(inner, seen));
  let before: string | undefined;
  for (const key in value) {
    if (before !== undefined && key <= before) return false;
    before = key;
    if (key === "$") seen.marked = true;
    if (!inOrder((value as Readonly<Record<string, unknown>>)[key], seen)) return false;
  }
  return true;
}
