/** Who wrote each line. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { blameLines, blameOf, type Version } from "./blame.ts";
import { splitLines } from "./lines.ts";

test("lines that stay keep their author, others have the one who brought them", () => {
  const versions = [
    { text: "a\nb\nc\n", by: 1 },
    { text: "a\nB\nc\n", by: 2 },
    { text: "new\na\nB\nc\n", by: 3 },
  ];
  expect(blameLines(versions)).toEqual([3, 1, 2, 1]);
  expect(blameLines([])).toEqual([]);
  expect(blameLines([...versions, { text: "", by: 4 }, { text: "a\n", by: 5 }])).toEqual([5]);
});

test("of a merge, a line that a parent has keeps its author there; the first parent is preferred", () => {
  const base: Version<string> = { text: "a\nb\nc\nd\n", by: "base" };
  const ours = { text: "A\nb\nc\nd\nsame\n", by: "ours", parents: [base] };
  const theirs = { text: "a\nb\nc\nD\nsame\n", by: "theirs", parents: [base] };
  const merge = { text: "A\nb\nresolved\nD\nsame\n", by: "merge", parents: [ours, theirs] };
  expect(blameOf(merge)).toEqual(["ours", "base", "merge", "theirs", "ours"]);
});

test("a long history and one that joins again and again are walked once", () => {
  let version: Version<number> = { text: "0\n", by: 0 };
  for (let i = 1; i <= 20_000; i++) version = { text: `${i}\n0\n`, by: i, parents: [version] };
  expect(blameOf(version)).toEqual([20_000, 0]);
  let joined: Version<number> = { text: "x\n", by: 0 };
  for (let i = 1; i <= 60; i++)
    joined = {
      text: "x\n",
      by: i,
      parents: [
        { ...joined, parents: [joined] },
        { ...joined, parents: [joined] },
      ],
    };
  expect(blameOf(joined)).toEqual([0]);
});

test("every line has one author, who had it in the text he made", () => {
  const text = fc.array(fc.constantFrom("a\n", "b\n", "c\n", "d"), { maxLength: 8 }).map((lines) => lines.join(""));
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 5 }), (texts) => {
      const authors = blameLines(texts.map((one, by) => ({ text: one, by })));
      const lines = splitLines(texts.at(-1) as string);
      expect(authors).toHaveLength(lines.length);
      // From its author's version on, every text has the line.
      authors.forEach((by, i) => {
        for (const later of texts.slice(by)) expect(splitLines(later)).toContain(lines[i]);
      });
    }),
  );
});
