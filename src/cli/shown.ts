/**
 * Text that is safe to print. What models, tools and files said may hold escape sequences that move the cursor, change the title
 * or hide text; every value that goes into a `Shown` is neutralised, and only a `Shown` can be printed.
 */
import { neutral, neutralJson, neutralJsonText } from "../wire/neutral.ts";

/** Printable text, with the columns it takes on a terminal. */
export class Shown {
  readonly text: string;
  #width: number | (() => number);
  constructor(text: string, width: number | (() => number) = () => widthOf(text)) {
    this.text = text;
    this.#width = width;
  }
  /** Measured when somebody asks: that takes long, and most of what is printed stands under nothing. */
  get width(): number {
    if (typeof this.#width === "function") this.#width = this.#width();
    return this.#width;
  }
  toString(): string {
    return this.text;
  }
}

export type Showable = string | number | Shown;

/** Makes printable text of a template: its own words stay, whatever is put into it is neutralised. */
export function show(words: TemplateStringsArray, ...values: readonly Showable[]): Shown {
  return joined(words.flatMap((word, index) => [new Shown(word), ...(index < values.length ? [values[index] as Showable] : [])]));
}

export function joined(values: readonly Showable[], between = ""): Shown {
  const parts = values.map(toShown);
  const gaps = Math.max(0, parts.length - 1) * widthOf(between);
  return new Shown(parts.map((part) => part.text).join(between), () => parts.reduce((sum, part) => sum + part.width, gaps));
}

export function toShown(value: Showable): Shown {
  if (value instanceof Shown) return value;
  return new Shown(neutral(String(value)));
}

/** JSON in which nothing can act on a terminal: the same value, with more characters escaped. */
export function json(value: unknown, indent?: number): Shown {
  return new Shown(neutralJson(value, indent));
}

/** Text that is JSON already. */
export function jsonText(text: string): Shown {
  return new Shown(neutralJsonText(text));
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
