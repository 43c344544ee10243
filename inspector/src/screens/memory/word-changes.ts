/** What became of the words of a text, for short texts; of long ones only that they are others. */

export interface Piece {
  readonly kind: "same" | "removed" | "added";
  readonly text: string;
}

/** As many comparisons as nobody notices. */
const mostCells = 1_000_000;

export function wordChanges(before: string, after: string): readonly Piece[] {
  if (before === after) return before === "" ? [] : [{ kind: "same", text: before }];
  const [a, b] = [words(before), words(after)];
  let first = 0;
  while (first < a.length && first < b.length && a[first] === b[first]) first++;
  let last = 0;
  while (last < a.length - first && last < b.length - first && a[a.length - 1 - last] === b[b.length - 1 - last]) last++;
  const middle = changed(a.slice(first, a.length - last), b.slice(first, b.length - last));
  return joined([{ kind: "same", text: a.slice(0, first).join("") }, ...middle, { kind: "same", text: a.slice(a.length - last).join("") }]);
}

function words(text: string): readonly string[] {
  return text.match(/\s+|[^\s]+/g) ?? [];
}

/** By the longest common subsequence, where that is quickly found. */
function changed(a: readonly string[], b: readonly string[]): readonly Piece[] {
  if (a.length * b.length > mostCells)
    return [
      { kind: "removed", text: a.join("") },
      { kind: "added", text: b.join("") },
    ];
  const width = b.length + 1;
  const lengths = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number): number => lengths[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      lengths[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const pieces: Piece[] = [];
  for (let i = 0, j = 0; i < a.length || j < b.length; ) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      pieces.push({ kind: "same", text: a[i] ?? "" });
      i++;
      j++;
    } else if (j === b.length || (i < a.length && at(i + 1, j) >= at(i, j + 1))) pieces.push({ kind: "removed", text: a[i++] ?? "" });
    else pieces.push({ kind: "added", text: b[j++] ?? "" });
  }
  return pieces;
}

function joined(pieces: readonly Piece[]): readonly Piece[] {
  const all: Piece[] = [];
  for (const piece of pieces) {
    const before = all.at(-1);
    if (piece.text === "") continue;
    if (before?.kind === piece.kind) all[all.length - 1] = { kind: piece.kind, text: before.text + piece.text };
    else all.push(piece);
  }
  return all;
}
