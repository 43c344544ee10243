/** What models, tools and files said, made harmless: nothing in it acts on a terminal or turns the direction of a page. */

/** Control characters but line feed and tab, and those that turn the direction of text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be shown
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** Makes control characters visible instead of obeyed. */
export function neutral(text: string): string {
  return text.replace(/\r\n/g, "\n").replace(controls, (found) => {
    const code = found.charCodeAt(0);
    return code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16)}`;
  });
}

/** JSON in which nothing acts: the same value, with more characters escaped. */
export function neutralJson(value: unknown, indent?: number): string {
  return neutralJsonText(JSON.stringify(value, plain, indent) ?? "null");
}

/** The same of text that is JSON already. */
export function neutralJsonText(text: string): string {
  return text.replace(controls, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** JSON that programs read: bytes and numbers that JSON has no words for are in it, and nothing more is escaped than must be. */
export function plainJson(value: unknown): string {
  // Asking for each value takes longer than all the rest: it is done where something needs it.
  return (isPlain(value) ? JSON.stringify(value) : JSON.stringify(value, plain)) ?? "null";
}

/** Whether JSON has words for all of it. */
function isPlain(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || value === null) return typeof value !== "bigint";
  if (Array.isArray(value)) return value.every(isPlain);
  if (value instanceof Uint8Array || "toJSON" in value) return false;
  for (const key in value) if (!isPlain((value as Readonly<Record<string, unknown>>)[key])) return false;
  return true;
}

/** What JSON cannot say by itself, in the words of the stored format. */
function plain(_: string, value: unknown): unknown {
  if (value instanceof Uint8Array) return { $: "bytes", base64: base64(value) };
  if (typeof value === "number" && !Number.isFinite(value)) return { $: "number", text: String(value) };
  return typeof value === "bigint" ? String(value) : value;
}

function base64(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}
