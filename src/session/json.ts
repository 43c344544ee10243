/**
 * Values in and out of the log.
 *
 * `encode` walks a value once: it refuses what JSON would change and cannot be kept, redacts secrets, moves long strings and
 * bytes into blobs, and gives both the canonical text (RFC 8785) and the frozen value the program receives. So a live result
 * is exactly what a resumed program reads. An object with a `$` key is ours: `{"$":"blob"}`, `{"$":"undefined"}`,
 * `{"$":"number"}`, `{"$":"utf16"}`, `{"$":"tree"}`; a user's own object with that key travels as `{"$":"object"}`.
 */
import { RathError } from "./errors.ts";
import type { Platform } from "./platform.ts";

/** Strings longer than this many UTF-16 units become blobs: a row near the page size wastes the page (docs/formats/session.md). */
export const blobThreshold = 4096;
const deepest = 1000;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what JSON escapes
const special = /["\\\u0000-\u001f\ud800-\udfff]/;
const word = /^[A-Za-z][A-Za-z0-9_.-]*$/;

/** Finds secrets in a string: the text without them and how many were replaced, or undefined when there are none. */
export interface Redact {
  (text: string): { readonly text: string; readonly count: number } | undefined;
  /** Where something begins at the end of a text that may become a secret when more comes; its length when nothing does. */
  unfinished?(text: string): number;
  /** Which secrets are in a text, without telling them. */
  secretsIn?(text: string): readonly SecretAt[];
}

/** A secret in a text: what it is, how all of its kind begin, and where it stands. */
export interface SecretAt {
  readonly kind: string;
  readonly begins: string;
  readonly at: number;
  readonly length: number;
}

export interface Encoded {
  readonly text: string;
  readonly value: unknown;
  readonly redacted: number;
  readonly blobs: ReadonlyMap<string, Uint8Array> | undefined;
}

/** Text that is a blob of its own and is hashed once, however many events name it. */
export class SharedText {
  readonly text: string;
  readonly hash: string;
  /** Stored with the first event that names it. */
  readonly bytes: Uint8Array;
  readonly attached: boolean;

  private constructor(text: string, hash: string, bytes: Uint8Array, attached: boolean) {
    this.text = text;
    this.hash = hash;
    this.bytes = bytes;
    this.attached = attached;
  }

  static of(text: string, platform: Platform): SharedText {
    const bytes = platform.bytes(text);
    return new SharedText(text, platform.sha256(bytes), bytes, true);
  }

  /** The same for events after one that stores it. */
  again(): SharedText {
    return new SharedText(this.text, this.hash, this.bytes, false);
  }
}

/** A tree of files named by data. What is new in it is stored with the event that names it first. */
export class TreeName {
  readonly hash: string;
  readonly objects: ReadonlyMap<string, Uint8Array> | undefined;

  constructor(hash: string, objects?: ReadonlyMap<string, Uint8Array>) {
    this.hash = hash;
    this.objects = objects;
  }
}

/** The canonical text of a value, what must be stored beside it, and the value as the log will give it back. */
export function encode(value: unknown, platform: Platform, redact: Redact, name = "value"): Encoded {
  const walk = new Walk(platform, redact, name);
  const kept = walk.value(value);
  return { text: walk.text, value: kept, redacted: walk.redacted, blobs: walk.blobs };
}

/** The value of a canonical text, frozen. `blob` gives the contents that were moved out of it. */
export function decode(text: string, platform: Platform, blob: (hash: string) => Uint8Array): unknown {
  const value: unknown = JSON.parse(text);
  // Most text names nothing that lies elsewhere: then the value is as it was parsed.
  return text.includes('"$":') ? restore(value, platform, blob) : frozen(value);
}

function frozen(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) for (const inner of value) frozen(inner);
  else for (const key in value) frozen((value as Record<string, unknown>)[key]);
  return Object.freeze(value);
}

/** The value with copies of its bytes, which cannot be frozen: what one reader does to them no other one sees. Itself where there are none. */
export function withOwnBytes(value: unknown): unknown {
  if (value instanceof Uint8Array) return new Uint8Array(value);
  if (typeof value !== "object" || value === null) return value;
  const kept: object = Array.isArray(value) ? [] : {};
  let same = true;
  for (const [key, inner] of Object.entries(value)) {
    const own = withOwnBytes(inner);
    same &&= Object.is(own, inner);
    put(kept as Record<string, unknown>, key, own);
  }
  return same ? value : Object.freeze(kept);
}

/** The hashes of the blobs a canonical text names. */
export function blobsIn(text: string): readonly string[] {
  if (!text.includes('"$":"blob"')) return [];
  const found: string[] = [];
  // In canonical text quotes inside of strings are escaped: only a user's own object could look like a reference.
  if (!text.includes('"$":"object"')) {
    for (const [, hash] of text.matchAll(/"\$":"blob","bytes":\d+,"hash":"([0-9a-f]{64})"/g)) found.push(hash as string);
    return found;
  }
  const visit = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    if (isMarked(value, "blob")) found.push(value["hash"] as string);
    else for (const inner of Object.values(isMarked(value, "object") ? (value["of"] as object) : value)) visit(inner);
  };
  visit(JSON.parse(text));
  return found;
}

/** The hashes of the trees of files that a canonical text names. */
export function treesIn(text: string): readonly string[] {
  if (!text.includes('"$":"tree"')) return [];
  const found: string[] = [];
  const visit = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    if (isMarked(value, "tree")) found.push(value["hash"] as string);
    else for (const inner of Object.values(isMarked(value, "object") ? (value["of"] as object) : value)) visit(inner);
  };
  visit(JSON.parse(text));
  return found;
}

class Walk {
  text = "";
  redacted = 0;
  blobs: Map<string, Uint8Array> | undefined;
  readonly #platform: Platform;
  readonly #redact: Redact;
  readonly #path: (string | number)[];
  readonly #around: object[] = [];

  constructor(platform: Platform, redact: Redact, name: string) {
    this.#platform = platform;
    this.#redact = redact;
    this.#path = [name];
  }

  value(value: unknown): unknown {
    switch (typeof value) {
      case "string":
        return this.#string(value);
      case "number":
        return this.#number(value);
      case "boolean":
        this.text += value ? "true" : "false";
        return value;
      case "undefined":
        this.text += '{"$":"undefined"}';
        return undefined;
      case "object":
        return value === null ? this.#null() : this.#object(value);
      default:
        throw this.#refuse(`is a ${typeof value}`, typeof value === "bigint" ? "store it as a string" : "store plain data");
    }
  }

  #null(): null {
    this.text += "null";
    return null;
  }

  #number(value: number): number {
    if (Number.isFinite(value) && !Object.is(value, -0)) this.text += JSON.stringify(value);
    else this.text += `{"$":"number","is":"${Object.is(value, -0) ? "-0" : String(value)}"}`;
    return value;
  }

  #string(given: string): string {
    const value = this.#clean(given);
    if (value.length > blobThreshold) this.#blob(value);
    else {
      // Text without anything to escape, which is most text, is found three times as fast as JSON.stringify quotes it.
      if (!special.test(value)) this.text += `"${value}"`;
      else this.text += isWellFormed(value) ? JSON.stringify(value) : `{"$":"utf16","units":"${units(value)}"}`;
    }
    return value;
  }

  #clean(given: string): string {
    const clean = this.#redact(given);
    if (clean === undefined) return given;
    this.redacted += clean.count;
    return clean.text;
  }

  #blob(content: string | Uint8Array): void {
    const type = typeof content !== "string" ? "bytes" : isWellFormed(content) ? "text" : "utf16";
    const bytes = typeof content !== "string" ? content : this.#platform.bytes(type === "text" ? content : units(content));
    const hash = this.#platform.sha256(bytes);
    this.blobs ??= new Map();
    this.blobs.set(hash, bytes);
    this.text += `{"$":"blob","bytes":${bytes.length},"hash":"${hash}","type":"${type}"}`;
  }

  #shared(value: SharedText): string {
    if (value.attached) {
      this.blobs ??= new Map();
      this.blobs.set(value.hash, value.bytes);
    }
    this.text += `{"$":"blob","bytes":${value.bytes.length},"hash":"${value.hash}","type":"text"}`;
    return value.text;
  }

  #tree({ hash, objects }: TreeName): string {
    if (objects !== undefined && objects.size > 0) {
      this.blobs ??= new Map();
      for (const [name, bytes] of objects) this.blobs.set(name, bytes);
    }
    this.text += `{"$":"tree","hash":"${hash}"}`;
    return hash;
  }

  #object(value: object): unknown {
    if (value instanceof SharedText) return this.#shared(value);
    if (value instanceof TreeName) return this.#tree(value);
    if (value instanceof Uint8Array) {
      // Replacing bytes could break what they are: a secret in them is refused.
      if (this.#redact(latin1(value)) !== undefined) throw this.#refuse("holds a secret among its bytes", "leave it out");
      // Bytes cannot be frozen: what is stored under their hash is not what the program holds.
      this.#blob(new Uint8Array(value));
      return new Uint8Array(value);
    }
    // A time is kept as JSON writes it; what the program receives, live and later, is that text.
    if (value instanceof Date && !Number.isNaN(value.getTime())) return this.#string(value.toISOString());
    if (this.#around.includes(value)) throw this.#refuse("contains itself", "store a tree, not a cycle");
    if (this.#around.length >= deepest) throw this.#refuse(`is nested deeper than ${deepest} levels`, "store it as text or bytes");
    this.#around.push(value);
    const kept = Array.isArray(value) ? this.#array(value) : this.#record(value);
    this.#around.pop();
    return Object.freeze(kept);
  }

  #array(value: readonly unknown[]): unknown[] {
    if (Object.keys(value).length > value.length) throw this.#refuse("is an array with named fields", "store an object");
    const kept: unknown[] = [];
    this.text += "[";
    for (let index = 0; index < value.length; index++) {
      if (index > 0) this.text += ",";
      this.#path.push(index);
      if (!(index in value)) throw this.#refuse("is a hole in a sparse array", "use null or leave it out");
      kept.push(this.value(value[index]));
      this.#path.pop();
    }
    this.text += "]";
    return kept;
  }

  #record(value: object): Record<string, unknown> {
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype !== null && Object.getPrototypeOf(prototype) !== null) throw this.#refuseInstance(value);
    if (Object.getOwnPropertySymbols(value).length > 0) throw this.#refuse("has symbol keys", "use string keys");
    const keys = Object.keys(value);
    if (!this.#plain(keys)) return this.#renamed(value, this.#canonical(keys));
    const kept: Record<string, unknown> = {};
    this.text += "{";
    for (let index = 0; index < keys.length; index++) {
      const key = keys[index] as string;
      this.text += index === 0 ? `"${key}":` : `,"${key}":`;
      this.#path.push(key);
      kept[key] = this.value((value as Record<string, unknown>)[key]);
      this.#path.pop();
    }
    this.text += "}";
    return kept;
  }

  /** Nearly all keys are short words in order: nothing to sort, escape, redact or quote. */
  #plain(keys: readonly string[]): boolean {
    let before = "";
    for (const key of keys) {
      if (key <= before || !word.test(key) || this.#redact(key) !== undefined) return false;
      before = key;
    }
    return true;
  }

  #renamed(value: object, keys: readonly (readonly [string, string])[]): Record<string, unknown> {
    const ours = keys.some(([key]) => key === "$");
    const kept: Record<string, unknown> = {};
    this.text += ours ? '{"$":"object","of":{' : "{";
    let first = true;
    for (const [key, original] of keys) {
      this.text += first ? `${JSON.stringify(key)}:` : `,${JSON.stringify(key)}:`;
      first = false;
      this.#path.push(original);
      put(kept, key, this.value((value as Record<string, unknown>)[original]));
      this.#path.pop();
    }
    this.text += ours ? "}}" : "}";
    return kept;
  }

  /** Keys in canonical order (UTF-16 code units), each with the key it has in the value. */
  #canonical(keys: readonly string[]): readonly (readonly [string, string])[] {
    const taken = new Set<string>();
    const pairs = keys.toSorted().map((original): readonly [string, string] => {
      if (!isWellFormed(original))
        throw this.#refuse(`has a key with a lone surrogate (${JSON.stringify(original)})`, "use a well-formed key");
      const clean = this.#clean(original);
      let key = clean;
      for (let n = 2; taken.has(key); n++) key = `${clean}#${n}`;
      taken.add(key);
      return [key, original];
    });
    return pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  }

  #refuseInstance(value: object): RathError {
    // What a generator is made by has no name, and neither has a class without one.
    const name = generators[Object.prototype.toString.call(value)] ?? (value.constructor?.name || "object without a plain prototype");
    const hints: Record<string, string> = {
      Date: "store a valid one",
      Map: "store Object.fromEntries(map)",
      Set: "store [...set]",
      URL: "store url.href",
      Blob: "store new Uint8Array(await blob.arrayBuffer())",
      Error: "store error.message",
      Promise: "await it first",
      SessionValue: "store its output, its text or its id",
      generator: "store what it gives, as a list",
      "async generator": "store what it gives, as a list",
    };
    return this.#refuse(
      `is ${/^[aeio]/i.test(name) ? "an" : "a"} ${name === "SessionValue" ? "Session" : name}`,
      hints[name] ?? "store plain data: objects, arrays, strings, numbers, booleans, null, bytes",
    );
  }

  #refuse(problem: string, next: string): RathError {
    const [name, ...rest] = this.#path;
    const field = rest.reduce<string>((path, part) => path + (typeof part === "number" ? `[${part}]` : `.${part}`), String(name));
    return new RathError("value.unsupported", `${field} ${problem}, which the log cannot keep: ${next}.`, { details: { field } });
  }
}

const generators: Readonly<Record<string, string>> = {
  "[object Generator]": "generator",
  "[object AsyncGenerator]": "async generator",
};

/** The same for a canonical text that was parsed already. */
export function restore(value: unknown, platform: Platform, blob: (hash: string) => Uint8Array): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return Object.freeze(value.map((inner) => restore(inner, platform, blob)));
  const marked = value as Record<string, unknown>;
  switch (marked["$"]) {
    case undefined:
      return record(marked, platform, blob);
    case "undefined":
      return undefined;
    case "number":
      return Number(marked["is"]);
    case "utf16":
      return fromUnits(marked["units"] as string);
    case "tree":
      return marked["hash"];
    case "object":
      return record(marked["of"] as Record<string, unknown>, platform, blob);
    case "blob": {
      const bytes = blob(marked["hash"] as string);
      if (marked["type"] === "bytes") return new Uint8Array(bytes);
      return marked["type"] === "text" ? textOfBlob(bytes, platform) : fromUnits(platform.text(bytes));
    }
    default:
      throw new RathError(
        "event.invalid",
        `Stored data has an unknown mark ${JSON.stringify(marked["$"])}; a newer version of openrath may have written it.`,
      );
  }
}

/** Thousands of events may name one blob, as model calls name their configuration: they share its text. */
const texts = new WeakMap<Uint8Array, string>();

function textOfBlob(bytes: Uint8Array, platform: Platform): string {
  let text = texts.get(bytes);
  if (text === undefined) {
    text = platform.text(bytes);
    texts.set(bytes, text);
  }
  return text;
}

function record(value: Record<string, unknown>, platform: Platform, blob: (hash: string) => Uint8Array): unknown {
  const kept: Record<string, unknown> = {};
  for (const [key, inner] of Object.entries(value)) put(kept, key, restore(inner, platform, blob));
  return Object.freeze(kept);
}

/** `kept["__proto__"] = …` would change the prototype instead of adding a field. */
function put(kept: Record<string, unknown>, key: string, value: unknown): void {
  if (key === "__proto__") Object.defineProperty(kept, key, { value, enumerable: true, configurable: true, writable: true });
  else kept[key] = value;
}

function isMarked(value: object, mark: string): value is Record<string, unknown> {
  return (value as Record<string, unknown>)["$"] === mark;
}

// In every supported Node, though not yet in the es2023 library types.
function isWellFormed(text: string): boolean {
  return (text as string & { isWellFormed(): boolean }).isWellFormed();
}

function latin1(bytes: Uint8Array): string {
  let text = "";
  for (let from = 0; from < bytes.length; from += 8192) text += String.fromCharCode(...bytes.subarray(from, from + 8192));
  return text;
}

function units(text: string): string {
  let hex = "";
  for (let index = 0; index < text.length; index++) hex += text.charCodeAt(index).toString(16).padStart(4, "0");
  return hex;
}

function fromUnits(hex: string): string {
  let text = "";
  for (let index = 0; index < hex.length; index += 4) text += String.fromCharCode(Number.parseInt(hex.slice(index, index + 4), 16));
  return text;
}
