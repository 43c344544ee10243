/** For a text that is not in a file: the lines of the file that are most like it. Bounded, since models look in large files too. */

const shownLines = 10;
const comparedLines = 50;
const mostLines = 50_000;

/** What to say of it. */
export function nearest(lines: readonly string[], wanted: readonly string[]): string {
  const found = bestWindow(lines.slice(0, mostLines), wanted.slice(0, comparedLines));
  if (found === undefined) return "Nothing in it is like that: read the file first.";
  const [at, same] = found;
  const shown = lines
    .slice(at, at + Math.min(wanted.length + 2, shownLines))
    .map((line, index) => `${at + index + 1}: ${line.slice(0, 300)}`);
  const how = same ? "The same text with other white space is here" : "The nearest lines are";
  return `${how}:\n${shown.join("\n")}`;
}

/** Where most lines agree but for white space; if none does, the line most like the first one. */
function bestWindow(lines: readonly string[], wanted: readonly string[]): readonly [at: number, same: boolean] | undefined {
  const bare = (line: string): string => line.replace(/\s+/g, "");
  const looked = wanted.map(bare);
  const there = lines.map(bare);
  let best = 0;
  let at = -1;
  for (let start = 0; start < there.length; start++) {
    let score = 0;
    for (const [index, line] of looked.entries()) if (line !== "" && there[start + index] === line) score += 1;
    if (score > best) [best, at] = [score, start];
  }
  if (at >= 0) return [at, best === looked.filter((line) => line !== "").length];
  const first = looked.find((line) => line !== "");
  return first === undefined ? undefined : mostAlike(there, first);
}

function mostAlike(lines: readonly string[], wanted: string): readonly [at: number, same: boolean] | undefined {
  const pairs = pairsOf(wanted.slice(0, 200));
  let best = 0.3; // less in common than that is chance
  let at = -1;
  for (const [index, line] of lines.entries()) {
    const own = pairsOf(line.slice(0, 200));
    let common = 0;
    for (const pair of own) if (pairs.has(pair)) common += 1;
    const alike = (2 * common) / (own.size + pairs.size);
    if (alike > best) [best, at] = [alike, index];
  }
  return at < 0 ? undefined : [at, false];
}

function pairsOf(text: string): ReadonlySet<string> {
  const pairs = new Set<string>();
  for (let index = 0; index + 1 < text.length; index++) pairs.add(text.slice(index, index + 2));
  return pairs;
}
