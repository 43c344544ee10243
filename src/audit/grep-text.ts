/**
 * The texts of an event as people read them: what its data says, apart from words that only say of which shape it is. Long texts lie
 * in blobs, and files in trees; both are named here and read by whoever needs them.
 */
import type { EventKind } from "../session/event.ts";
import { textFrom } from "../workspace/lines.ts";

/** A text, and where in the data it stands. */
export interface TextAt {
  readonly where: string;
  readonly text: string;
}

/** How the bytes of a blob are read as text. */
export type BlobForm = "text" | "utf16" | "bytes" | "configuration";

/** A blob that data names. */
export interface BlobAt {
  readonly where: string;
  readonly form: BlobForm;
  readonly hash: string;
}

export interface EventTexts {
  readonly texts: readonly TextAt[];
  readonly blobs: readonly BlobAt[];
  /** Trees of files, by their hashes. */
  readonly trees: readonly string[];
}

/** Of these the names of fields were written by people and models too; elsewhere they are ours. */
const free = new Set(["input", "value", "original", "answer", "data", "context", "content", "outcome", "settings", "spec", "metadata"]);
/** Words of the format, digests and signatures. */
const silent = new Set("type role repeat revision request signature mediaType finish before after digest isolation".split(" "));

interface Inner {
  readonly value: unknown;
  readonly where: string;
  readonly free: boolean;
}

/** The texts in the canonical data of an event, in its order. Data that is no JSON is one text. */
export function textsIn(kind: EventKind | string, data: string): EventTexts {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {
    return { texts: [{ where: "", text: data }], blobs: [], trees: [] };
  }
  return walk(value, kind === "recall.returned" ? noFields : free, kind === "model.called" ? "configuration" : undefined);
}

const noFields: ReadonlySet<string> = new Set();

function walk(root: unknown, freeFields: ReadonlySet<string>, configuration?: string, under = ""): EventTexts {
  const texts: TextAt[] = [];
  const blobs: BlobAt[] = [];
  const trees: string[] = [];
  // Without recursion: hostile data may be deeper than the call stack.
  const waiting: Inner[] = [{ value: root, where: under, free: false }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { value, where } = next;
    if (typeof value === "string") texts.push({ where, text: value });
    else if (typeof value === "number" || typeof value === "boolean") {
      if (next.free) texts.push({ where, text: String(value) });
    } else if (typeof value === "object" && value !== null) {
      const marked = Array.isArray(value) ? {} : (value as Readonly<Record<string, unknown>>);
      const { $: mark, hash } = marked as { readonly $?: unknown; readonly hash?: string };
      if (mark === "blob")
        blobs.push({ where, form: where === configuration ? "configuration" : formOf(marked["type"]), hash: hash ?? "" });
      else if (mark === "tree") trees.push(hash ?? "");
      else if (mark === "utf16") texts.push({ where, text: fromUnits(String(marked["units"])) });
      else if (mark === "number") texts.push({ where, text: String(marked["is"]) });
      else if (mark !== "undefined")
        pushInner(waiting, mark === "object" ? (marked["of"] ?? {}) : value, next, where === under ? freeFields : noFields);
    }
  }
  return { texts, blobs, trees };
}

/** Last ones first, so that the first is taken next. */
function pushInner(waiting: Inner[], value: object, { where, free: inFree }: Inner, freeFields: ReadonlySet<string>): void {
  if (Array.isArray(value)) {
    for (let index = value.length - 1; index >= 0; index--)
      waiting.push({ value: value[index], where: `${where}[${index}]`, free: inFree });
    return;
  }
  const keys = Object.keys(value);
  for (let index = keys.length - 1; index >= 0; index--) {
    const key = keys[index] as string;
    const one = (value as Readonly<Record<string, unknown>>)[key];
    // Trees and blobs are found wherever they are named.
    if (!inFree && typeof one === "string" && silent.has(key)) continue;
    const at = where === "" ? key : `${where}.${key}`;
    waiting.push({ value: one, where: at, free: inFree || freeFields.has(key) });
    if (inFree) waiting.push({ value: key, where: at, free: true });
  }
}

function formOf(type: unknown): BlobForm {
  return type === "text" || type === "utf16" ? type : "bytes";
}

/** The texts of a blob. One that is binary has none. */
export function textsOfBlob(form: BlobForm, bytes: Uint8Array, where: string): readonly TextAt[] {
  if (form === "bytes") {
    const text = textFrom(bytes);
    return text === undefined ? [] : [{ where, text }];
  }
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
  if (form === "utf16") return [{ where, text: fromUnits(text) }];
  if (form === "configuration") {
    try {
      return walk(JSON.parse(text), noFields, undefined, where).texts;
    } catch {
      // As it stands, then.
    }
  }
  return [{ where, text }];
}

function fromUnits(hex: string): string {
  let text = "";
  for (let index = 0; index < hex.length; index += 4) text += String.fromCharCode(Number.parseInt(hex.slice(index, index + 4), 16));
  return text;
}
