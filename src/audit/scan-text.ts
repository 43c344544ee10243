/** Texts in which a secret may be: every name and string of a value, and bytes as whoever reads them may take them. */

/** A text, and where it stands. */
export interface PlacedText {
  readonly where: string;
  readonly text: string;
}

/** Every string of a value and every name of a field; marks of the format are read as what they stand for. Without recursion. */
export function* stringsIn(root: unknown, under = ""): Generator<PlacedText, void> {
  const waiting: { readonly value: unknown; readonly where: string }[] = [{ value: root, where: under }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { value, where } = next;
    if (typeof value === "string") yield { where, text: value };
    if (typeof value !== "object" || value === null || value instanceof Uint8Array) continue;
    const { $: mark, units } = value as { readonly $?: unknown; readonly units?: unknown };
    if (mark === "utf16" && typeof units === "string") yield { where, text: utf16Of(units) };
    for (const [key, inner] of Object.entries(value)) {
      const at = Array.isArray(value) ? `${where}[${key}]` : where === "" ? key : `${where}.${key}`;
      if (!Array.isArray(value)) yield { where: `a name in ${where === "" ? "it" : where}`, text: key };
      waiting.push({ value: inner, where: at });
    }
  }
}

/** Bytes are looked through in pieces that overlap. */
const pieceBytes = 1 << 20;
const overlapBytes = 16_384;

/**
 * Bytes as text. What is no UTF-8 keeps the rest of it readable; and where there are zeros, the same without them, which is what
 * ordinary characters look like in UTF-16.
 */
export function* textsOfBytes(bytes: Uint8Array): Generator<string, void> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let from = 0; from === 0 || from < buffer.length; from += pieceBytes - overlapBytes) {
    const text = buffer.toString("utf8", from, from + pieceBytes);
    yield text;
    if (text.includes("\0")) yield text.replaceAll("\0", "");
    if (from + pieceBytes >= buffer.length) return;
  }
}

/** A text that is stored as the hex digits of its UTF-16 units. */
export function utf16Of(hex: string): string {
  let text = "";
  for (let index = 0; index < hex.length; index += 4) text += String.fromCharCode(Number.parseInt(hex.slice(index, index + 4), 16));
  return text;
}
