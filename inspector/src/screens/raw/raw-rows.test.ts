import { expect, test } from "vitest";
import { Lineage } from "../../lineage/lineage.ts";
import { choicesIn, rowsOf } from "./raw-rows.ts";

const lineage = new Lineage({
  ...{ session: "a", head: "", count: 4, cut: 0, sessions: ["a", "b"], id: "0123".replace(/./g, (digit) => digit.repeat(64)) },
  ...{
    kinds: ["tool.called", "tool.returned", "toolbox.made"],
    kind: [0, 1, 2, 0],
    writers: ["fix", "fix/coder", "fixer"],
    by: [0, 1, 2, 1],
  },
  ...{ branch: [0, 0, 1, 1], step: [1, 2, 3, 4], at: [1, 1, 1, 1], parents: [] },
  ...{ marks: { row: [], mark: [] }, outcomes: { row: [], outcome: [] }, calls: { row: [], call: [] }, retried: { row: [], attempts: [] } },
  spent: { row: [], ms: [], input: [], output: [], usd: [] },
  retried: { row: [], attempts: [] },
});
const all = { kind: undefined, by: undefined, branch: undefined, found: undefined };

test("rows are chosen by kind, writer, branch and what was found, all at once", () => {
  expect(rowsOf(lineage, all).rows).toEqual([0, 1, 2, 3]);
  expect(rowsOf(lineage, { ...all, kind: "tool" }).rows).toEqual([0, 1, 3]);
  expect(rowsOf(lineage, { ...all, by: "fix" }).rows).toEqual([0, 1, 3]);
  expect(rowsOf(lineage, { ...all, kind: "tool.called", branch: "b" }).rows).toEqual([3]);
  expect(rowsOf(lineage, { ...all, found: new Set([lineage.id(2)]) }).rows).toEqual([2]);
  expect(choicesIn(lineage)).toEqual({ kinds: ["tool.called", "tool.returned", "toolbox.made"], writers: ["fix", "fix/coder", "fixer"] });
});

test("what a filter gave is continued: only new rows are looked at", () => {
  const half = { rows: [0], count: 2 };
  expect(rowsOf(lineage, { ...all, kind: "tool" }, half)).toEqual({ rows: [0, 3], count: 4 });
  expect(half.rows).toEqual([0]);
});
