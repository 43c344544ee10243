/** What differs between two texts, line by line. */

export interface DifferentLine {
  readonly sign: "same" | "removed" | "added";
  readonly text: string;
}

/** So many lines between what is equal at both ends are compared one by one; of more all are told as replaced. */
const mostLines = 600;

export function textDifference(before: string, after: string): readonly DifferentLine[] {
  const linesOf = (text: string): string[] => (text === "" ? [] : text.split("\n"));
  const [a, b] = [linesOf(before), linesOf(after)];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const same = (text: string): DifferentLine => ({ sign: "same", text });
  return [
    ...a.slice(0, start).map(same),
    ...between(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...a.slice(a.length - end).map(same),
  ];
}

function between(a: readonly string[], b: readonly string[]): readonly DifferentLine[] {
  const removed = a.map((text): DifferentLine => ({ sign: "removed", text }));
  const added = b.map((text): DifferentLine => ({ sign: "added", text }));
  if (a.length > mostLines || b.length > mostLines || a.length === 0 || b.length === 0) return [...removed, ...added];
  // How many lines are equal at most from each pair of places on.
  const equal = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  const at = (i: number, j: number): number => equal[i]?.[j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      (equal[i] as Uint16Array)[j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const lines: DifferentLine[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ sign: "same", text: a[i] as string });
      i++;
      j++;
    } else if (i < a.length && (j === b.length || at(i + 1, j) >= at(i, j + 1))) lines.push(removed[i++] as DifferentLine);
    else lines.push(added[j++] as DifferentLine);
  }
  return lines;
}

/** Only what differs, with some lines around it; undefined stands for what was left out. */
export function excerpt(lines: readonly DifferentLine[], around = 3): readonly (DifferentLine | undefined)[] {
  const shown: (DifferentLine | undefined)[] = [];
  const near = new Uint8Array(lines.length);
  lines.forEach(({ sign }, index) => {
    if (sign !== "same") near.fill(1, Math.max(0, index - around), index + around + 1);
  });
  lines.forEach((line, index) => {
    if (near[index] === 1) shown.push(line);
    else if (shown.at(-1) !== undefined || index === 0) shown.push(undefined);
  });
  return shown;
}
