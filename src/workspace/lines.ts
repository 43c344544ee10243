/**
 * Texts as lines, and what differs between two of them. The work is bounded by counting, never by a clock: a merge on record must
 * come out the same on every machine.
 */
import { isUtf8 } from "node:buffer";
import { diffArrays } from "diff";

/** The text that bytes are; undefined for a binary: what is no UTF-8, or holds a zero byte. */
export function textFrom(bytes: Uint8Array): string | undefined {
  return isUtf8(bytes) && !bytes.includes(0) ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8") : undefined;
}

/** The lines of a text, each with its newline; the last may have none. A carriage return is part of its line. */
export function splitLines(text: string): readonly string[] {
  return text.match(/[^\n]*\n|[^\n]+/g) ?? [];
}

/** Lines `start` to `end` (not included) of the first text became lines `from` to `to` of the second. */
export interface Hunk {
  readonly start: number;
  readonly end: number;
  readonly from: number;
  readonly to: number;
}

/**
 * Where two texts differ, in order, at least one equal line between any two places. Undefined when they differ so much that
 * finding the best answer would take too long.
 */
export function lineHunks(a: readonly string[], b: readonly string[]): readonly Hunk[] | undefined {
  let first = 0;
  while (first < a.length && first < b.length && a[first] === b[first]) first += 1;
  let tail = 0;
  while (tail < a.length - first && tail < b.length - first && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
  const before = indexes(a, first, a.length - tail, new Set(b.slice(first, b.length - tail)));
  const after = indexes(b, first, b.length - tail, new Set(a.slice(first, a.length - tail)));
  const pairs = commonPairs(a, before, b, after);
  return pairs === undefined ? undefined : between([...pairs, [a.length - tail, b.length - tail]], first);
}

/** More edits than this take about a second to find. */
const mostEdits = 3000;
/** Of steps along equal lines, in the worst case. */
const mostWork = 400_000_000;

/** The places of lines that the other text has too: the others match nothing, and leaving them out saves most of the work. */
function indexes(lines: readonly string[], start: number, end: number, others: ReadonlySet<string>): readonly number[] {
  const kept: number[] = [];
  for (let i = start; i < end; i++) if (others.has(lines[i] as string)) kept.push(i);
  return kept;
}

/** Places of equal lines, rising on both sides and as many as there can be. */
function commonPairs(
  a: readonly string[],
  before: readonly number[],
  b: readonly string[],
  after: readonly number[],
): (readonly [number, number])[] | undefined {
  const pairs: (readonly [number, number])[] = [];
  if (before.length === 0 || after.length === 0) return pairs;
  const numbers = new Map<string, number>();
  const number = (line: string): number => {
    const known = numbers.get(line) ?? numbers.size;
    numbers.set(line, known);
    return known;
  };
  const maxEditLength = Math.min(mostEdits, Math.max(100, Math.floor(mostWork / (before.length + after.length))));
  const parts = diffArrays(
    before.map((i) => number(a[i] as string)),
    after.map((i) => number(b[i] as string)),
    { maxEditLength },
  );
  if (parts === undefined) return undefined;
  let [i, j] = [0, 0];
  for (const part of parts) {
    if (!part.added && !part.removed) for (let k = 0; k < part.count; k++) pairs.push([before[i + k] as number, after[j + k] as number]);
    if (!part.added) i += part.count;
    if (!part.removed) j += part.count;
  }
  return pairs;
}

/** What lies between pairs of equal lines. */
function between(pairs: readonly (readonly [number, number])[], first: number): readonly Hunk[] {
  const hunks: Hunk[] = [];
  let [start, from] = [first, first];
  for (const [end, to] of pairs) {
    if (end > start || to > from) hunks.push({ start, end, from, to });
    start = end + 1;
    from = to + 1;
  }
  return hunks;
}
