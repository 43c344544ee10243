/**
 * JSON from strangers. Beside what JSON.parse refuses: text that is not UTF-8, a key that is there twice (two readers would see two
 * different calls), the key `__proto__` (readers in JavaScript would too), and nesting deeper than anything we take.
 *
 * Errors say where, and never repeat what was sent.
 */
import { RathError } from "../session/errors.ts";

const deepest = 100;

export function parseStrictly(bytes: Uint8Array): unknown {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw invalid("is not UTF-8");
  }
  const odd = oddKeyIn(text);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const [, at] = /position (\d+)/.exec((error as Error).message) ?? [];
    throw invalid(at === undefined ? "is not JSON" : `is not JSON: see its character ${Number(at) + 1}`);
  }
  if (odd !== undefined) throw invalid(odd);
  return value;
}

function invalid(why: string): RathError {
  return new RathError("request.invalid", `The body ${why}.`);
}

/**
 * What is wrong with the keys of a text, if it is JSON. Each character is looked at once, by hand: a pattern for strings would begin again
 * at every quote of one that has no end.
 */
function oddKeyIn(text: string): string | undefined {
  /** The keys of each object we are in; undefined for a list. */
  const within: (Set<string> | undefined)[] = [];
  let odd: string | undefined;
  let isKeyNext = false;
  for (let at = 0; at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (character === quote) {
      const end = endOfString(text, at + 1);
      if (end < 0) return undefined;
      if (isKeyNext) odd ??= oddKey(keyAt(text, at, end), within.at(-1));
      isKeyNext = false;
      at = end;
    } else if (character === openBrace || character === openBracket) {
      isKeyNext = character === openBrace;
      if (within.push(isKeyNext ? new Set() : undefined) > deepest) throw invalid(`is nested deeper than ${deepest} levels`);
    } else if (character === closeBrace || character === closeBracket) {
      within.pop();
      isKeyNext = false;
    } else if (character === comma) isKeyNext = within.at(-1) !== undefined;
  }
  return odd;
}

const [quote, backslash, comma, openBrace, closeBrace, openBracket, closeBracket] = [...'"\\,{}[]'].map((one) => one.charCodeAt(0));

function oddKey(key: string | undefined, keys: Set<string> | undefined): string | undefined {
  if (key === undefined || keys === undefined) return undefined;
  if (key === "__proto__") return "has a key __proto__, which is not taken";
  if (keys.has(key)) return `has the key ${JSON.stringify(key.slice(0, 100))} twice in one object`;
  keys.add(key);
  return undefined;
}

/** Where a string ends that begins at `from`; -1 when it does not. */
function endOfString(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 1)) {
    let slashes = 0;
    while (at - 1 - slashes >= from && text.charCodeAt(at - 1 - slashes) === backslash) slashes++;
    if (slashes % 2 === 0) return at;
  }
  return -1;
}

/** Undefined where it has an escape that JSON does not know. */
function keyAt(text: string, from: number, end: number): string | undefined {
  const raw = text.slice(from + 1, end);
  if (!raw.includes("\\")) return raw;
  try {
    return JSON.parse(text.slice(from, end + 1)) as string;
  } catch {
    return undefined;
  }
}
