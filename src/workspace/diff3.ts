/** A merge of two changed texts over the text they come from: two line diffs, and what they say where they meet. */
import { type Hunk, lineHunks, splitLines } from "./lines.ts";

/** What a merge of texts came to. */
export interface MergedText {
  /** With markers around what did not merge, the base between ours and theirs. */
  readonly text: string;
  /** How many places did not merge. */
  readonly conflicts: number;
}

/**
 * Merges texts by lines, as `git merge-file --diff3` does: changes that touch conflict unless they are the same. Line ends are kept
 * as they are. Texts that differ too much to compare are one conflict as a whole.
 */
export function diff3(base: string, ours: string, theirs: string): MergedText {
  if (ours === theirs || theirs === base) return { text: ours, conflicts: 0 };
  if (ours === base) return { text: theirs, conflicts: 0 };
  const [a, o, t] = [splitLines(base), splitLines(ours), splitLines(theirs)];
  const left = lineHunks(a, o);
  const right = left === undefined ? undefined : lineHunks(a, t);
  if (left === undefined || right === undefined)
    return { text: conflictOf(a, o, t, o[0]?.endsWith("\r\n") === true ? "\r\n" : "\n"), conflicts: 1 };
  return merged(a, { lines: o, hunks: left }, { lines: t, hunks: right });
}

interface Side {
  readonly lines: readonly string[];
  readonly hunks: readonly Hunk[];
}

function merged(base: readonly string[], ours: Side, theirs: Side): MergedText {
  const parts: string[] = [];
  const [left, right] = [new Cursor(ours), new Cursor(theirs)];
  let at = 0;
  let conflicts = 0;
  for (;;) {
    const start = Math.min(left.next, right.next);
    parts.push(textOf(base, at, Math.min(start, base.length)));
    if (start === Number.POSITIVE_INFINITY) return { text: parts.join(""), conflicts };
    const end = together(left, right, start);
    const [o, t] = [left.take(start, end), right.take(start, end)];
    if (!t.changed || (o.changed && sameLines(o.lines, t.lines))) parts.push(o.lines.join(""));
    else if (!o.changed) parts.push(t.lines.join(""));
    else {
      conflicts += 1;
      parts.push(conflictOf(base.slice(start, end), o.lines, t.lines, o.ending === "\r\n" && t.ending === "\r\n" ? "\r\n" : "\n"));
    }
    at = end;
  }
}

/** Where the changes that touch each other from a line on end. Two with an equal line between them do not touch. */
function together(left: Cursor, right: Cursor, start: number): number {
  let end = start;
  for (;;) {
    const further = Math.max(left.reach(end), right.reach(end));
    if (further === end) return end;
    end = further;
  }
}

/** Walks the changes of one side in order. */
class Cursor {
  readonly #side: Side;
  #at = 0;
  #ahead = 0;
  /** How far lines of this side are behind those of the base. */
  #shift = 0;

  constructor(side: Side) {
    this.#side = side;
  }

  /** Where the next change begins in the base. */
  get next(): number {
    return this.#side.hunks[this.#at]?.start ?? Number.POSITIVE_INFINITY;
  }

  /** How far changes reach that begin at a line or before it. */
  reach(end: number): number {
    let far = end;
    for (let hunk = this.#side.hunks[this.#ahead]; hunk !== undefined && hunk.start <= far; hunk = this.#side.hunks[this.#ahead]) {
      far = Math.max(far, hunk.end);
      this.#ahead += 1;
    }
    return far;
  }

  /** What this side has for lines of the base, and whether it changed them; goes on behind them. */
  take(start: number, end: number): { readonly lines: readonly string[]; readonly changed: boolean; readonly ending: string } {
    const from = start + this.#shift;
    const changed = this.#ahead > this.#at;
    this.#at = this.#ahead;
    const last = this.#side.hunks[this.#at - 1];
    if (last !== undefined) this.#shift = last.to - last.end;
    const { lines } = this.#side;
    return { lines: lines.slice(from, end + this.#shift), changed, ending: lines[Math.max(0, from - 1)]?.endsWith("\r\n") ? "\r\n" : "\n" };
  }
}

/** A conflict as git writes it, with line ends like those around it. */
function conflictOf(base: readonly string[], ours: readonly string[], theirs: readonly string[], ending: string): string {
  const block = (lines: readonly string[]): string => {
    const text = lines.join("");
    return text === "" || text.endsWith("\n") ? text : text + ending;
  };
  return `<<<<<<< ours${ending}${block(ours)}||||||| base${ending}${block(base)}=======${ending}${block(theirs)}>>>>>>> theirs${ending}`;
}

function textOf(lines: readonly string[], start: number, end: number): string {
  return lines.slice(start, end).join("");
}

function sameLines(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((line, i) => line === b[i]);
}
