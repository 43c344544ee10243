/**
 * Whether stored values hold a text, however they keep it: in a string, a key, a number, a string with lone surrogates. Ids and hashes
 * are no content: four digits are found in every thousandth of them.
 */

const noContent = /^(?:[0-9a-f]{64}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\d{4}-\d{2}-\d{2}T[\d:.]+Z)$/;

export class Words {
  readonly #text: string;
  /** As JSON writes it. */
  readonly #escaped: string;
  readonly #bytes: readonly Buffer[];

  constructor(text: string) {
    this.#text = text;
    this.#escaped = JSON.stringify(text).slice(1, -1);
    this.#bytes = [...new Set([text, this.#escaped])].map((form) => Buffer.from(form));
  }

  /** In a text that people read: a name, a title. */
  isIn(text: string | undefined): boolean {
    return text?.includes(this.#text) === true && !noContent.test(text);
  }

  /** In the content of a blob. */
  isInBytes(content: Uint8Array): boolean {
    const buffer = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
    return this.#bytes.some((form) => buffer.includes(form));
  }

  /** In canonical data. */
  isInData(data: string): boolean {
    if (!data.includes(this.#escaped) && !data.includes('"$":"utf16"')) return false;
    return someValue(JSON.parse(data), (value) => (typeof value === "string" ? this.isIn(value) : String(value) === this.#text));
  }
}

/** Every string longer than so many characters that canonical data holds, keys left out. */
export function longTexts(data: string, longer: number): readonly string[] {
  const found: string[] = [];
  someValue(JSON.parse(data), (value) => {
    if (typeof value === "string" && value.length > longer && !noContent.test(value)) found.push(value);
    return false;
  });
  return found;
}

/** True when one of the strings, numbers and keys of a value is wanted. Without recursion: a value may be deeper than the call stack. */
function someValue(root: unknown, wanted: (value: string | number) => boolean): boolean {
  const waiting: unknown[] = [root];
  while (waiting.length > 0) {
    const value = waiting.pop();
    if (typeof value === "string" || typeof value === "number") {
      if (wanted(value)) return true;
    } else if (Array.isArray(value)) for (const inner of value) waiting.push(inner);
    else if (typeof value === "object" && value !== null) {
      const units = utf16Of(value as Readonly<Record<string, unknown>>);
      if (units !== undefined && wanted(units)) return true;
      for (const [key, inner] of Object.entries(value)) {
        if (wanted(key)) return true;
        waiting.push(inner);
      }
    }
  }
  return false;
}

function utf16Of({ $: mark, units }: Readonly<Record<string, unknown>>): string | undefined {
  if (mark !== "utf16" || typeof units !== "string") return undefined;
  return units.replace(/[0-9a-f]{4}/g, (unit) => String.fromCharCode(Number.parseInt(unit, 16)));
}
