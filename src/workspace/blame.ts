/** Who wrote each line of a text: whoever brought it in, as far as line diffs tell. Pure; who "by" is, the caller knows. */
import { lineHunks, splitLines } from "./lines.ts";

/** A text at some moment, who made it, and what it was made from: one text, or several that were merged. */
export interface Version<T> {
  readonly text: string;
  readonly by: T;
  readonly parents?: readonly Version<T>[] | undefined;
}

/** For each line of the newest of several versions, oldest first, who wrote it. */
export function blameLines<T>(versions: readonly { readonly text: string; readonly by: T }[]): readonly T[] {
  let newest: Version<T> | undefined;
  for (const { text, by } of versions) newest = { text, by, parents: newest === undefined ? [] : [newest] };
  return newest === undefined ? [] : blameOf(newest);
}

/** For each line of a version, who wrote it. A line that a parent has keeps its author there; the first parent is preferred. */
export function blameOf<T>(version: Version<T>): readonly T[] {
  const known = new Map<Version<T>, Blamed<T>>();
  // A stack of our own: a history may be longer than the call stack is deep.
  const waiting = [version];
  for (let at = waiting.at(-1); at !== undefined; at = waiting.at(-1)) {
    const missing = (at.parents ?? []).filter((parent) => !known.has(parent));
    if (missing.length === 0 || known.has(at)) {
      if (!known.has(at))
        known.set(
          at,
          blamed(
            at,
            (at.parents ?? []).map((parent) => known.get(parent) as Blamed<T>),
          ),
        );
      waiting.pop();
    } else for (const parent of missing) waiting.push(parent);
  }
  return (known.get(version) as Blamed<T>).authors;
}

interface Blamed<T> {
  readonly lines: readonly string[];
  readonly authors: readonly T[];
}

function blamed<T>({ text, by }: Version<T>, parents: readonly Blamed<T>[]): Blamed<T> {
  const lines = splitLines(text);
  const authors = new Array<T>(lines.length).fill(by);
  const settled = new Array<boolean>(lines.length).fill(false);
  for (const parent of parents) {
    // Texts that differ too much to compare have no lines in common that anybody could tell.
    const hunks = lineHunks(parent.lines, lines) ?? [{ start: 0, end: parent.lines.length, from: 0, to: lines.length }];
    let [old, now] = [0, 0];
    for (const hunk of [...hunks, { start: parent.lines.length, end: 0, from: lines.length, to: 0 }]) {
      for (; now < hunk.from; now++, old++) {
        if (!settled[now]) authors[now] = parent.authors[old] as T;
        settled[now] = true;
      }
      old = hunk.end;
      now = hunk.to;
    }
  }
  return { lines, authors };
}
