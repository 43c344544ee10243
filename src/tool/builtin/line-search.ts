/**
 * Lines that match a regular expression, within a time. A pattern can take for ever on a short line, and which ones do cannot be
 * told by looking at them; so matching runs under the watchdog of node:vm, which interrupts even a single match. It keeps the
 * process from other work meanwhile, so all the matching of one search together has the time of one budget, and a short one.
 */
import { createContext, Script } from "node:vm";

export interface Found {
  readonly line: number;
  readonly text: string;
  /** Where in the line the match begins, and where it ends. */
  readonly at: number;
  readonly end: number;
}

export interface LineSearch {
  /** The matching lines; undefined when the time was up. */
  find(lines: readonly string[], most: number): readonly Found[] | undefined;
}

const script = new Script(`
  (() => {
    const found = [];
    for (let index = 0; index < lines.length && found.length < 3 * most; index++) {
      const match = pattern.exec(lines[index]);
      if (match !== null) found.push(index, match.index, match.index + match[0].length);
    }
    return found;
  })()
`);

/** Throws when the pattern is none. */
export function lineSearch(pattern: string, budgetMs: number): LineSearch {
  const context = createContext({ pattern: expressionOf(pattern), lines: [] as readonly string[], most: 0 });
  let left = budgetMs;
  return {
    find: (lines, most) => {
      if (left < 1) return undefined;
      Object.assign(context, { lines, most });
      const began = performance.now();
      try {
        const found = script.runInContext(context, { timeout: Math.ceil(left) }) as readonly number[];
        return triples(found).map(([index, at, end]) => ({ line: index + 1, text: lines[index] as string, at, end }));
      } catch (error) {
        if ((error as { readonly code?: unknown } | null)?.code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
        return undefined;
      } finally {
        left -= performance.now() - began;
      }
    },
  };
}

/** With "(?i)" in front, as other dialects write it, case does not matter. */
function expressionOf(pattern: string): RegExp {
  const [, flag, rest = pattern] = /^(\(\?i\))?([\s\S]*)$/.exec(pattern) ?? [];
  const flags = flag === undefined ? "" : "i";
  try {
    return new RegExp(rest, `${flags}u`);
  } catch {
    // Escapes that mean nothing, like "\-", are allowed without "u".
    return new RegExp(rest, flags);
  }
}

function triples(numbers: readonly number[]): readonly (readonly [number, number, number])[] {
  const all: [number, number, number][] = [];
  for (let index = 0; index < numbers.length; index += 3)
    all.push([numbers[index] as number, numbers[index + 1] as number, numbers[index + 2] as number]);
  return all;
}
