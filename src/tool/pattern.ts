/** Patterns of rules: "*" stands for anything, every other character for itself. Whatever a model thinks of is judged in a short time. */

/** Each part as early as it can be: nothing is tried twice. */
export function matches(pattern: string, name: string): boolean {
  const [first = "", ...parts] = pattern.split("*");
  const last = parts.pop();
  if (last === undefined) return pattern === name;
  if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last)) return false;
  let at = first.length;
  for (const part of parts) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at <= name.length - last.length;
}

/** Whether a text that is known in part may match: `unknown` in it may turn out to be anything. */
export function mayMatch(pattern: string, text: string, unknown: string): boolean {
  if (!text.includes(unknown)) return matches(pattern, text);
  // reached[j]: the text so far may be what the first j characters of the pattern stand for.
  let reached = closure(new Uint8Array(pattern.length + 1), pattern, 0);
  for (const character of text.split("")) {
    const next = new Uint8Array(pattern.length + 1);
    let any = false;
    for (let at = 0; at <= pattern.length; at++) {
      if (reached[at] === 0) continue;
      any = true;
      if (character === unknown) {
        next.fill(1, at);
        break;
      }
      if (pattern[at] === "*") closure(next, pattern, at);
      else if (pattern[at] === character) closure(next, pattern, at + 1);
    }
    if (!any) return false;
    reached = next;
  }
  return reached[pattern.length] === 1;
}

/** A star may also stand for nothing. */
function closure(reached: Uint8Array, pattern: string, from: number): Uint8Array {
  let at = from;
  reached[at] = 1;
  while (pattern[at] === "*") reached[++at] = 1;
  return reached;
}
