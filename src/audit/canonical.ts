/**
 * Is a text canonical JSON (RFC 8785)? Text that is as long as the canonical text of its value, with nothing in it that could be
 * written in as few characters or fewer in another way, and with its keys in order, is; that is judged without building the canonical
 * text. Whatever looks different is built and compared: fractions, integer-like keys, which JavaScript moves, and escapes by number.
 */
import { isUtf8 } from "node:buffer";
import canonicalize from "canonicalize";
import { textOfThrown } from "../session/thrown.ts";

/** The value of a text, or what is wrong with the text. */
export type Read =
  | { readonly value: unknown /** Some object in it has the key `$`. */; readonly marked: boolean }
  | { readonly flaw: string };

/** Reads bytes that must be canonical JSON, from a place in them on. */
export function readCanonical(bytes: Uint8Array, from = 0): Read {
  const text = (Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)).toString("utf8", from);
  // Whatever is no UTF-8 was replaced by this character.
  if (text.includes("\ufffd") && !isUtf8(bytes.subarray(from))) return { flaw: "is not UTF-8" };
  return judged(text);
}

/** The value of a text that must be canonical JSON. */
function judged(text: string): Read {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { flaw: "is not JSON" };
  }
  try {
    const plain = new Plain();
    const escapes = plainEscapes(text);
    if (escapes >= 0 && plain.length(value) + escapes === text.length) return { value, marked: plain.marked };
    return canonicalize(value) === text ? { value, marked: true } : { flaw: "is not canonical JSON (RFC 8785)" };
  } catch (error) {
    return { flaw: `is not canonical JSON (RFC 8785): ${textOfThrown(error)}` };
  }
}

/** How many escapes are in a text when each is the one that canonical JSON has for its character; else less than zero. */
function plainEscapes(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\\"); at >= 0; at = text.indexOf("\\", at + 2)) {
    if (!'"\\bfnrt'.includes(text.charAt(at + 1))) return -1;
    count++;
  }
  return count;
}

/**
 * How long the canonical text of a value is without its escapes; not a number when a text of the same value could be as short and
 * not canonical. White space and repeated keys make a text longer, and so does every other way of writing such a number: an exponent
 * saves nothing before two zeros.
 */
class Plain {
  marked = false;

  length(value: unknown): number {
    switch (typeof value) {
      case "string":
        return value.length + 2;
      case "number":
        return Number.isSafeInteger(value) && (value % 100 !== 0 || value === 0) ? String(value).length : Number.NaN;
      case "boolean":
        return value ? 4 : 5;
      default:
        return value === null ? 4 : Array.isArray(value) ? this.#array(value) : this.#object(value as Readonly<Record<string, unknown>>);
    }
  }

  #array(value: readonly unknown[]): number {
    let sum = Math.max(2, value.length + 1);
    for (const inner of value) sum += this.length(inner);
    return sum;
  }

  #object(value: Readonly<Record<string, unknown>>): number {
    let before = "";
    let sum = 1;
    for (const key in value) {
      // In the order of their UTF-16 units, and none that JavaScript puts ahead.
      if ((key <= before && sum > 1) || isDigit(key.charCodeAt(0))) return Number.NaN;
      before = key;
      if (key === "$") this.marked = true;
      sum += key.length + 4 + this.length(value[key]);
    }
    return Math.max(2, sum);
  }
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}
