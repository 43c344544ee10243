/** Arguments as models write them. What can be read without losing anything is; what was written is kept beside it. */

/** What was read: the input, and whether it had to be repaired; or why it cannot be read. */
export type ReadInput = { readonly input: unknown; readonly repaired: boolean } | { readonly problem: string };

export function readInput(raw: string): ReadInput {
  if (raw.trim() === "") return { input: {}, repaired: false };
  const plain = parsed(raw);
  if (plain !== undefined) return objectOf(plain.value, raw, false) ?? { problem: `expected a JSON object, got ${kindOf(plain.value)}` };
  for (const candidate of [unfenced(raw), withoutTrailingCommas(raw), withoutTrailingCommas(unfenced(raw))]) {
    const repaired = parsed(candidate);
    const found = repaired === undefined ? undefined : objectOf(repaired.value, candidate, true);
    if (found !== undefined) return found;
  }
  return { problem: `the arguments are not JSON: ${raw.length > 200 ? `${raw.slice(0, 200)}…` : raw}` };
}

/** An object, also one that was written as JSON inside a string. */
function objectOf(value: unknown, text: string, repaired: boolean): ReadInput | undefined {
  if (value === null) return { input: {}, repaired: true };
  if (typeof value === "string") {
    const inner = value.trim() === "" ? { value: {} } : parsed(value);
    return typeof inner?.value === "object" && inner.value !== null ? objectOf(inner.value, value, true) : undefined;
  }
  if (typeof value !== "object" || Array.isArray(value)) return undefined;
  const problem = lossIn(text);
  return problem === undefined ? { input: value, repaired } : { problem };
}

function parsed(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}

/** Well under what the log keeps, which stores an input inside an event. */
const deepest = 900;
const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*|[{}[\]:]/g;

/** What JSON.parse would lose without a word, or the log could not keep, in a text that is JSON. */
export function lossIn(text: string): string | undefined {
  const around: Set<string>[] = [];
  let before = "";
  for (const [token] of text.matchAll(tokens)) {
    if (token === "{" || token === "[") {
      if (around.push(new Set()) > deepest) return `it is nested deeper than ${deepest} levels`;
    } else if (token === "}" || token === "]") around.pop();
    else if (token === ":") {
      const key = before.includes("\\") ? (JSON.parse(before) as string) : before.slice(1, -1);
      if (!(key as string & { isWellFormed(): boolean }).isWellFormed()) return `the key ${before} has a lone surrogate`;
      if (around.at(-1)?.has(key)) return `the key ${JSON.stringify(key)} is written twice`;
      around.at(-1)?.add(key);
    } else if (/^-?[1-9]\d{15,}$/.test(token) && String(Number(token)) !== token)
      return `${token} is more than a number holds exactly: write it as a string, if the schema takes one`;
    before = token;
  }
  return undefined;
}

/** Without a Markdown fence around it. */
export function unfenced(text: string): string {
  const trimmed = text.trim();
  const fenced = trimmed.length > 6 && trimmed.startsWith("```") && trimmed.endsWith("```");
  return fenced ? trimmed.slice(3, -3).replace(/^json\b/, "") : text;
}

/** Without commas before a closing bracket, outside strings. A string that does not end goes to the end: one look at each character. */
function withoutTrailingCommas(text: string): string {
  return text.replace(/"[^"\\]*(?:\\[\s\S][^"\\]*)*"?|,(?=\s*[}\]])/g, (match) => (match === "," ? "" : match));
}

function kindOf(value: unknown): string {
  return Array.isArray(value) ? "an array" : value === null ? "null" : `a ${typeof value}`;
}
