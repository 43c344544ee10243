import { expect, test } from "vitest";
import { excerpt, textDifference } from "./text-difference.ts";

const signs = { same: " ", removed: "-", added: "+" } as const;
const shown = (before: string, after: string) => textDifference(before, after).map(({ sign, text }) => `${signs[sign]}${text}`);

test("lines that are equal stay, others are removed and added", () => {
  expect(shown("a\nb\nc", "a\nx\nc")).toEqual([" a", "-b", "+x", " c"]);
  expect(shown("a\nb\nc\nd", "b\nc\ne\nd")).toEqual(["-a", " b", " c", "+e", " d"]);
  expect(shown("same", "same")).toEqual([" same"]);
  expect(shown("", "a")).toEqual(["+a"]);
});

test("of very long texts all that differs is replaced, at once", () => {
  const long = (word: string) => Array.from({ length: 20_000 }, (_, line) => `${word} ${line}`).join("\n");
  const lines = textDifference(`first\n${long("a")}\nlast`, `first\n${long("b")}\nlast`);
  expect(lines).toHaveLength(40_002);
  expect([lines[0]?.sign, lines.at(-1)?.sign]).toEqual(["same", "same"]);
});

test("an excerpt leaves out what is equal and far away", () => {
  const lines = textDifference("1\n2\n3\n4\n5\n6\n7\n8\n9", "1\n2\n3\n4\n5\n6\n7\n8\nx");
  expect(excerpt(lines, 1).map((line) => line?.text)).toEqual([undefined, "8", "9", "x"]);
});
