/**
 * Lines without an end, in a patch. Of two that took each other's place the same part is shown, around the first difference: the
 * beginnings of two long lines are mostly the same. What was left out is told apart from the text, so that nobody compares it.
 */
import { type ChangeData, getChangeKey, type HunkData } from "react-diff-view";

/** Which characters of a line are shown, from 1 on. */
export interface ShownPart {
  readonly from: number;
  readonly to: number;
  readonly of: number;
}

const longestLine = 1000;
/** So much of what is the same stands before a difference. */
const before = 200;

export function cutLines(hunk: HunkData, parts: Map<string, ShownPart>): HunkData {
  if (hunk.changes.every(({ content }) => content.length <= longestLine)) return hunk;
  const starts = startsOf(hunk.changes);
  const changes = hunk.changes.map((change, index) => {
    const { content } = change;
    if (content.length <= longestLine) return change;
    const start = starts.get(index) ?? 0;
    const cut = content.slice(start, start + longestLine);
    parts.set(getChangeKey(change), { from: start + 1, to: start + cut.length, of: content.length });
    return { ...change, content: cut };
  });
  return { ...hunk, changes };
}

/** Where each line that was replaced, and what replaced it, is shown from. */
function startsOf(changes: readonly ChangeData[]): ReadonlyMap<number, number> {
  const starts = new Map<number, number>();
  let first = 0;
  while (first < changes.length) {
    const added = past(changes, first, "delete");
    const end = past(changes, added, "insert");
    for (let pair = 0; pair < Math.min(added - first, end - added); pair++) {
      const start = startOf(changes[first + pair]?.content ?? "", changes[added + pair]?.content ?? "");
      starts.set(first + pair, start).set(added + pair, start);
    }
    first = Math.max(end, first + 1);
  }
  return starts;
}

function past(changes: readonly ChangeData[], from: number, type: ChangeData["type"]): number {
  let at = from;
  while (changes[at]?.type === type) at++;
  return at;
}

/** A line that is short is shown whole: then the other one begins where it begins. */
function startOf(a: string, b: string): number {
  if (Math.min(a.length, b.length) <= longestLine) return 0;
  let same = 0;
  while (same < a.length && a[same] === b[same]) same++;
  return Math.max(0, Math.min(same - before, Math.max(a.length, b.length) - longestLine));
}
