/**
 * Text that is safe to print. What models, tools and files said may hold escape sequences that move the cursor, change the title
 * or hide text; every value that goes into a `Shown` is neutralised, and only a `Shown` can be printed.
 */

/** Printable text, with the columns it takes on a terminal. */
export class Shown {
  readonly text: string;
  readonly width: number;
  constructor(text: string, width: number) {
    this.text = text;
    this.width = width;
  }
  toString(): string {
    return this.text;
  }
}

export type Showable = string | number | Shown;

/** Makes printable text of a template: its own words stay, whatever is put into it is neutralised. */
export function show(words: TemplateStringsArray, ...values: readonly Showable[]): Shown {
  return joined(
    words.flatMap((word, index) => [new Shown(word, widthOf(word)), ...(index < values.length ? [values[index] as Showable] : [])]),
  );
}

export function joined(values: readonly Showable[], between = ""): Shown {
  const parts = values.map(toShown);
  const gaps = Math.max(0, parts.length - 1) * widthOf(between);
  return new Shown(
    parts.map((part) => part.text).join(between),
    parts.reduce((sum, part) => sum + part.width, gaps),
  );
}

export function toShown(value: Showable): Shown {
  if (value instanceof Shown) return value;
  const text = neutral(String(value));
  return new Shown(text, widthOf(text));
}

/** Control characters but line feed and tab, and those that turn the direction of text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be printed
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** Makes control characters visible instead of obeyed. */
export function neutral(text: string): string {
  return text.replace(/\r\n/g, "\n").replace(controls, (found) => {
    const code = found.charCodeAt(0);
    return code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16)}`;
  });
}

/** JSON in which nothing can act on a terminal: the same value, with more characters escaped. */
export function json(value: unknown, indent?: number): Shown {
  return jsonText(JSON.stringify(value, plain, indent) ?? "null");
}

/** Text that is JSON already. */
export function jsonText(text: string): Shown {
  const safe = text.replace(controls, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return new Shown(safe, widthOf(safe));
}

/** What JSON cannot say by itself, in the words of the stored format. */
function plain(_: string, value: unknown): unknown {
  if (value instanceof Uint8Array) return { $: "bytes", base64: Buffer.from(value).toString("base64") };
  if (typeof value === "number" && !Number.isFinite(value)) return { $: "number", text: String(value) };
  return typeof value === "bigint" ? String(value) : value;
}

/** One line, at most so many columns wide. */
export function clip(text: string, columns: number): string {
  const line = neutral(text.replace(/\s+/g, " ").trim());
  if (widthOf(line) <= columns) return line;
  let [kept, width] = ["", 0];
  for (const { segment } of graphemes.segment(line)) {
    const more = widthOf(segment);
    if (width + more > columns - 1) break;
    kept += segment;
    width += more;
  }
  return `${kept}…`;
}

const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });
const wide =
  /^(?:\p{Emoji_Presentation}|.\ufe0f|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{1b000}-\u{1b2ff}\u{20000}-\u{3fffd}])/u;
const narrow = /^[\x20-\x7e]*$/;

/** Columns a text takes on a terminal. */
export function widthOf(text: string): number {
  if (narrow.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += wide.test(segment) ? 2 : /^[\p{Mark}\u200b-\u200d]/u.test(segment) ? 0 : 1;
  return width;
}
