/** What is searched for: a text as it stands or a regular expression, how it is found, and what an index can be asked about it. */
import { RathError } from "../session/errors.ts";
import { lineSearch } from "../tool/builtin/line-search.ts";

/** A line in which the pattern was found, and where the first match in it stands. */
export interface Match {
  /** Which of the texts. */
  readonly index: number;
  /** From 1. */
  readonly line: number;
  readonly excerpt: string;
  /** Where in the excerpt the match begins and ends. */
  readonly start: number;
  readonly end: number;
}

export interface Pattern {
  /** Texts that are in every match, whatever their case. None when an index cannot help. */
  readonly needles: readonly string[];
  /** One match for each line, in order. */
  find(texts: readonly string[]): readonly Match[];
}

export interface PatternOptions {
  readonly regex?: boolean | undefined;
  readonly ignoreCase?: boolean | undefined;
}

export function patternOf(pattern: string, { regex = false, ignoreCase = false }: PatternOptions): Pattern {
  if (typeof pattern !== "string" || pattern === "")
    throw new RathError("value.unsupported", "There is nothing to search for: give a text of one character or more.", {
      details: { field: "pattern" },
    });
  return regex ? expression(pattern, ignoreCase) : literal(pattern, ignoreCase);
}

// In every supported Node, though not yet in the es2023 library types.
function isWellFormed(text: string): boolean {
  return (text as string & { isWellFormed(): boolean }).isWellFormed();
}

/** An index knows runs of three characters; half a character may be part of another one there. */
function usable(needles: readonly string[]): readonly string[] {
  return needles.filter((needle) => [...needle].length >= 3 && isWellFormed(needle));
}

function literal(pattern: string, ignoreCase: boolean): Pattern {
  // By "u" cases are compared as Unicode folds them, character by character, so that places stay right.
  const folded = ignoreCase ? new RegExp(pattern.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&"), "giu") : undefined;
  const next = (text: string, from: number): { readonly at: number; readonly length: number } | undefined => {
    if (folded === undefined) {
      const at = text.indexOf(pattern, from);
      return at < 0 ? undefined : { at, length: pattern.length };
    }
    folded.lastIndex = from;
    const found = folded.exec(text);
    return found === null ? undefined : { at: found.index, length: found[0].length };
  };
  return { needles: usable([pattern]), find: (texts) => texts.flatMap((text, index) => linesWith(text, index, next)) };
}

function linesWith(
  text: string,
  index: number,
  next: (text: string, from: number) => { readonly at: number; readonly length: number } | undefined,
): Match[] {
  const matches: Match[] = [];
  let [line, counted] = [1, 0];
  for (let found = next(text, 0); found !== undefined; ) {
    const { at, length } = found;
    for (let feed = text.indexOf("\n", counted); feed >= 0 && feed < at; feed = text.indexOf("\n", counted)) {
      line++;
      counted = feed + 1;
    }
    const feed = text.indexOf("\n", at + length);
    const end = feed < 0 ? text.length : feed;
    matches.push({ index, line, ...excerptOf(text, counted, end, at, at + length) });
    // The next line after the one it begins in.
    const after = text.indexOf("\n", at);
    found = after < 0 ? undefined : next(text, after + 1);
  }
  return matches;
}

/** What one batch of texts may take; a pattern that needs more would never end. */
const batchMs = 2000;

function expression(pattern: string, ignoreCase: boolean): Pattern {
  const source = ignoreCase ? `(?i)${pattern}` : pattern;
  try {
    lineSearch(source, batchMs);
  } catch (cause) {
    throw new RathError("value.unsupported", `${JSON.stringify(pattern)} is no regular expression: ${(cause as Error).message}.`, {
      cause,
      details: { field: "pattern" },
    });
  }
  return {
    needles: usable(literalsIn(pattern)),
    find: (texts) => {
      const lines = texts.map((text) => text.split("\n"));
      const found = lineSearch(source, batchMs).find(lines.flat(), Number.MAX_SAFE_INTEGER / 4);
      if (found === undefined)
        throw new RathError(
          "value.unsupported",
          `The regular expression ${JSON.stringify(pattern)} takes too long on what is stored: it was stopped after ${batchMs / 1000} s. Write it without repetitions inside repetitions, or search for a text.`,
          { details: { field: "pattern" } },
        );
      let [index, before] = [0, 0];
      return found.map(({ line, text, at, end }) => {
        while (line > before + (lines[index] as readonly string[]).length) before += (lines[index++] as readonly string[]).length;
        return { index, line: line - before, ...excerptOf(text, 0, text.length, at, end) };
      });
    },
  };
}

const before = 60;
const longest = 240;

/** What stands around a match in its line; a long match is cut. */
function excerptOf(text: string, from: number, to: number, at: number, end: number): Omit<Match, "index" | "line"> {
  const start = to - from <= longest ? from : whole(text, Math.max(from, at - before));
  const last = whole(text, Math.min(to, start + longest));
  return { excerpt: text.slice(start, last), start: at - start, end: Math.min(end, last) - start };
}

/** Not between the halves of a character. */
function whole(text: string, at: number): number {
  return /[\udc00-\udfff]/.test(text[at] ?? "") && /[\ud800-\udbff]/.test(text[at - 1] ?? "") ? at - 1 : at;
}

/** Texts that every match of a regular expression has, as far as they can be told without understanding it. */
export function literalsIn(source: string): readonly string[] {
  // What these begin goes on in ways of its own; a choice or a look-around may do without the rest.
  if (/\\[uxcpPk]|[|]|\(\?/.test(source)) return [];
  const runs: string[] = [];
  let run: string[] = [];
  const cut = (): void => {
    runs.push(run.join(""));
    run = [];
  };
  let [depth, inClass] = [0, false];
  const characters = [...source];
  for (let at = 0; at < characters.length; at++) {
    const one = characters[at] as string;
    const escaped = one === "\\";
    const character = escaped ? (characters[++at] ?? "") : one;
    if (inClass) inClass = escaped || character !== "]";
    else if (!escaped && character === "[") {
      inClass = true;
      cut();
    } else if (!escaped && (character === "(" || character === ")")) {
      depth += character === "(" ? 1 : -1;
      cut();
    } else if (!escaped && /[*?{]/.test(character)) {
      // The character before may not be there at all; inside braces are numbers.
      run.pop();
      cut();
      if (character === "{") while (at < characters.length && characters[at] !== "}") at++;
    } else if ((!escaped && /[.+^$}]/.test(character)) || (escaped && /[A-Za-z0-9]/.test(character))) cut();
    else if (depth === 0) run.push(character);
  }
  cut();
  return runs.filter((text) => text !== "");
}
