/** Arguments as models write them. What can be read without losing anything is; what was written is kept beside it. */

/** What was read: the input, and whether it had to be repaired; or why it cannot be read. */
export type ReadInput = { readonly input: unknown; readonly repaired: boolean } | { readonly problem: string };

export function readInput(raw: string): ReadInput {
  if (raw.trim() === "") return { input: {}, repaired: false };
  const plain = parsed(raw);
  if (plain !== undefined) return objectOf(plain.value, false) ?? { problem: `expected a JSON object, got ${kindOf(plain.value)}` };
  for (const candidate of [unfenced(raw), withoutTrailingCommas(raw), withoutTrailingCommas(unfenced(raw))]) {
    const repaired = parsed(candidate);
    const found = repaired === undefined ? undefined : objectOf(repaired.value, true);
    if (found !== undefined) return found;
  }
  return { problem: `the arguments are not JSON: ${raw.length > 200 ? `${raw.slice(0, 200)}…` : raw}` };
}

/** An object, also one that was written as JSON inside a string. */
function objectOf(value: unknown, repaired: boolean): ReadInput | undefined {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return { input: value, repaired };
  if (value === null) return { input: {}, repaired: true };
  if (typeof value !== "string") return undefined;
  const inner = value.trim() === "" ? { value: {} } : parsed(value);
  return inner !== undefined && typeof inner.value === "object" && inner.value !== null && !Array.isArray(inner.value)
    ? { input: inner.value, repaired: true }
    : undefined;
}

function parsed(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}

/** Without a Markdown fence around it. */
function unfenced(text: string): string {
  return /^\s*```(?:json)?\s*\n?([\s\S]*?)\n?\s*```\s*$/.exec(text)?.[1] ?? text;
}

/** Without commas before a closing bracket, outside strings. */
function withoutTrailingCommas(text: string): string {
  return text.replace(/"(?:[^"\\]|\\.)*"|,(?=\s*[}\]])/g, (match) => (match === "," ? "" : match));
}

function kindOf(value: unknown): string {
  return Array.isArray(value) ? "an array" : value === null ? "null" : `a ${typeof value}`;
}
