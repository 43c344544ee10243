/** Merges of texts: against git where it is installed, and laws that hold for any text. */
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { diff3 } from "./diff3.ts";
import { lineHunks, splitLines } from "./lines.ts";

test("changes in different places merge, with their line ends", () => {
  const base = "one\r\ntwo\r\nthree\r\nfour";
  expect(diff3(base, "ONE\r\ntwo\r\nthree\r\nfour", "one\r\ntwo\r\nthree\r\nFOUR")).toEqual({
    text: "ONE\r\ntwo\r\nthree\r\nFOUR",
    conflicts: 0,
  });
});

test("a conflict shows ours, the base and theirs, between lines that merged", () => {
  const { text, conflicts } = diff3("a\nb\nc\nd\n", "a\nB\nc\nd\n", "a\nß\nc\nD\n");
  expect(conflicts).toBe(1);
  expect(text).toBe("a\n<<<<<<< ours\nB\n||||||| base\nb\n=======\nß\n>>>>>>> theirs\nc\nD\n");
});

test("a missing newline at the end stays missing, and a marker begins a line of its own", () => {
  expect(diff3("a\nb\nc", "A\nb\nc", "a\nb\nc\n").text).toBe("A\nb\nc\n");
  expect(diff3("a\nb\nc\n", "A\nb\nc\n", "a\nb\nc").text).toBe("A\nb\nc");
  expect(diff3("a", "b", "c").text).toBe("<<<<<<< ours\nb\n||||||| base\na\n=======\nc\n>>>>>>> theirs\n");
});

test("markers end like the lines around them", () => {
  expect(diff3("a\r\nb\r\n", "a\r\nc\r\n", "a\r\nd\r\n").text).toBe(
    "a\r\n<<<<<<< ours\r\nc\r\n||||||| base\r\nb\r\n=======\r\nd\r\n>>>>>>> theirs\r\n",
  );
});

test("adjacent changes conflict, the same change does not", () => {
  expect(diff3("a\nb\n", "A\nb\n", "a\nB\n").conflicts).toBe(1);
  expect(diff3("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n")).toEqual({ text: "A\nb\nC\n", conflicts: 0 });
  expect(diff3("a\nb\nc\n", "a\nX\nc\nours\n", "theirs\na\nX\nc\n")).toEqual({ text: "theirs\na\nX\nc\nours\n", conflicts: 0 });
});

const word = fc.constantFrom("a", "b", "c", "d", "x\r");
const anyText = fc.tuple(fc.array(word, { maxLength: 12 }), fc.boolean()).map(([lines, open]) => lines.join("\n") + (open ? "" : "\n"));

test("for any texts: unchanged and equal sides merge, sides can be swapped, and the hunks rebuild the text", () => {
  fc.assert(
    fc.property(anyText, anyText, anyText, (base, ours, theirs) => {
      expect(diff3(base, ours, base)).toEqual({ text: ours, conflicts: 0 });
      expect(diff3(base, base, ours)).toEqual({ text: ours, conflicts: 0 });
      expect(diff3(base, ours, ours)).toEqual({ text: ours, conflicts: 0 });
      const [one, other] = [diff3(base, ours, theirs), diff3(base, theirs, ours)];
      expect(one.conflicts).toBe(other.conflicts);
      if (one.conflicts === 0) expect(one.text).toBe(other.text);
      const [a, b] = [splitLines(base), splitLines(ours)];
      expect([a.join(""), b.join("")]).toEqual([base, ours]);
      const rebuilt = [...a];
      for (const hunk of [...(lineHunks(a, b) ?? [])].reverse())
        rebuilt.splice(hunk.start, hunk.end - hunk.start, ...b.slice(hunk.from, hunk.to));
      expect(rebuilt.join("")).toBe(ours);
    }),
    { numRuns: 500 },
  );
});

// Each takes about a second; without a bound they would take hours, and the time limit of a test is the check.
describe("hostile texts", () => {
  const shuffled = (count: number, step: number) => Array.from({ length: count }, (_, i) => `line ${(i * step) % count}\n`).join("");
  test("texts in which everything moved are one conflict, soon", () => {
    const [base, ours, theirs] = [shuffled(100_003, 1), shuffled(100_003, 7919), shuffled(100_003, 50_021)];
    expect(diff3(base, ours, theirs).conflicts).toBe(1);
  });

  test("long runs of equal lines beside moved ones do not hang", () => {
    const run = "same\n".repeat(300_000);
    const side = (step: number) => `start ${step}\n${shuffled(10_007, step)}${run}${shuffled(10_007, step)}`;
    expect(diff3(side(1), side(7919), side(5003)).conflicts).toBeGreaterThan(0);
  });

  test("a million empty lines are merged", () => {
    const empty = "\n".repeat(1_000_000);
    expect(diff3(empty, `ours\n${empty}`, `${empty}theirs\n`)).toEqual({ text: `ours\n${empty}theirs\n`, conflicts: 0 });
  });

  test("large texts that were rewritten on one side and edited on the other merge or conflict, soon", () => {
    const base = Array.from({ length: 200_000 }, (_, i) => `line ${i}\n`);
    const rewritten = base.map((line, i) => (i > 100 ? `new ${line}` : line)).join("");
    const edited = base.map((line, i) => (i === 50 ? "edited\n" : line)).join("");
    expect(diff3(base.join(""), rewritten, edited).conflicts).toBe(0);
  });
});

const hasGit = spawnSync("git", ["--version"]).status === 0;
if (!hasGit) console.warn("skipped: merges of texts against git, which is not installed");

describe.skipIf(!hasGit)("against git merge-file", () => {
  const directory = mkdtempSync(`${tmpdir()}/openrath-diff3-`);
  // A small process starts others in a fraction of the time that a large one takes.
  const merge = "git merge-file -p --diff3 -L ours -L base -L theirs ours base theirs";
  let shell: ChildProcessWithoutNullStreams;
  beforeAll(() => {
    shell = spawn("sh", ["-c", `while read -r line; do ${merge} > merged; echo $?; done`], { cwd: directory });
  });
  afterAll(async () => {
    const ended = once(shell, "close");
    shell.stdin.end();
    await ended;
    rmSync(directory, { recursive: true });
  });

  async function gitMerge(base: string, ours: string, theirs: string) {
    for (const [name, text] of Object.entries({ base, ours, theirs })) writeFileSync(`${directory}/${name}`, text);
    const answered = once(shell.stdout, "data");
    shell.stdin.write("merge\n");
    const [status] = await answered;
    return { text: readFileSync(`${directory}/merged`, "utf8"), conflicts: Number(status) };
  }

  /** Random edits of lines that are all different, so that there is one way to see what was edited. */
  const distinct = fc.record({ count: fc.nat({ max: 14 }), ends: fc.boolean(), ours: edits(), theirs: edits() }).map((given) => {
    const lines = Array.from({ length: given.count }, (_, i) => `line ${i}`);
    const text = (all: readonly string[]): string => (all.length === 0 ? "" : all.join("\n") + (given.ends ? "\n" : ""));
    return [text(lines), text(edited(lines, given.ours)), text(edited(lines, given.theirs))] as const;
  });

  test("distinct lines: the same text, and the same conflicts with the same markers", async () => {
    await fc.assert(
      fc.asyncProperty(distinct, async ([base, ours, theirs]) => {
        expect(diff3(base, ours, theirs)).toEqual(await gitMerge(base, ours, theirs));
      }),
      { numRuns: 150 },
    );
  });

  // Where lines repeat, there are several shortest ways to see an edit, and git chooses among them by its own heuristics. So two
  // right answers may differ in a few of a hundred cases: fixed ones are compared, and how often is bounded.
  test("repeated lines: seldom another answer than that of git", async () => {
    const line = fc.constantFrom("a", "b", "c", "d", "e");
    const text = (lines: readonly string[]): string => lines.map((one) => `${one}\n`).join("");
    const repeated = fc.record({ base: fc.array(line, { minLength: 4, maxLength: 14 }), ours: edits(), theirs: edits() });
    let others = 0;
    const samples = fc.sample(repeated, { numRuns: 150, seed: 7 });
    for (const given of samples) {
      const texts = [text(given.base), text(rewritten(given.base, given.ours)), text(rewritten(given.base, given.theirs))] as const;
      const [mine, git] = [diff3(...texts), await gitMerge(...texts)];
      if ((mine.conflicts === 0) !== (git.conflicts === 0) || (git.conflicts === 0 && mine.text !== git.text)) others += 1;
    }

    expect(others).toBeLessThan(samples.length * 0.05);
  });
});

type Edit = readonly [at: number, remove: number, add: readonly number[]];

function edits(): fc.Arbitrary<readonly Edit[]> {
  return fc.array(fc.tuple(fc.nat({ max: 14 }), fc.nat({ max: 2 }), fc.array(fc.nat({ max: 3 }), { maxLength: 2 })), { maxLength: 3 });
}

function edited(lines: readonly string[], all: readonly Edit[]): readonly string[] {
  const result = [...lines];
  for (const [at, remove, add] of all) {
    const fresh = add.map((n) => `new ${n}`).filter((line, i, list) => !result.includes(line) && list.indexOf(line) === i);
    result.splice(Math.min(at, result.length), remove, ...fresh);
  }
  return result;
}

/** Edits that put in lines which are there already. */
function rewritten(lines: readonly string[], all: readonly Edit[]): readonly string[] {
  const result = [...lines];
  for (const [at, remove, add] of all) result.splice(Math.min(at, result.length), remove, ...add.map((n) => "abcd".charAt(n)));
  return result;
}
