/** A branch as a conversation: its line, what it inherited, calls with their results, and nested work. */
import { expect, test } from "vitest";
import type { LineageIndex } from "../../../../src/client/client.ts";
import { Lineage } from "../../lineage/lineage.ts";
import { conversationOf, itemAt } from "./conversation.ts";

type Row = readonly [branch: number, kind: string, ...parents: readonly number[]];

function lineageOf(rows: readonly Row[], more: Partial<LineageIndex> = {}): Lineage {
  const kinds = [...new Set(rows.map(([, kind]) => kind))];
  return new Lineage({
    ...{ session: "a", head: "", count: rows.length, cut: 0, sessions: ["a", "b", "c"], kinds, writers: ["ada"] },
    id: rows.map((_, row) => String(row).padStart(64, "0")).join(""),
    branch: rows.map(([branch]) => branch),
    kind: rows.map(([, kind]) => kinds.indexOf(kind)),
    by: rows.map(() => 0),
    step: rows.map((_, row) => row + 1),
    at: rows.map(() => 1),
    parents: rows.flatMap(([, , ...parents], row) => (parents.length === 0 ? [] : [[row, ...parents]])),
    ...{
      marks: { row: [], mark: [] },
      outcomes: { row: [], outcome: [] },
      calls: { row: [], call: [] },
      retried: { row: [], attempts: [] },
    },
    spent: { row: [], ms: [], input: [], output: [], usd: [] },
    retried: { row: [], attempts: [] },
    ...more,
  });
}

const lineage = lineageOf(
  [
    [0, "session.created"],
    [0, "message.added"],
    [1, "session.forked", 1],
    [1, "model.called"],
    [1, "model.returned"],
    [1, "tool.called"],
    [2, "session.forked", 5],
    [2, "message.added"],
    [1, "tool.returned", 5, 7],
    [0, "session.merged", 8, 1],
    [0, "message.added"],
  ],
  { marks: { row: [6, 9], mark: ["nested", "adopt"] } },
);
const shown = (branch: string, opened: readonly number[] = []) =>
  conversationOf(lineage, branch, new Set(opened)).map(({ type, row, result, depth, origin }) => [type, row, result, depth, origin]);

test("a fork begins with what it inherited; a call and its result are one item, and nested work is behind it", () => {
  expect(shown("b")).toEqual([
    ["divider", 0, undefined, 0, "inherited"],
    ["message", 1, undefined, 0, "inherited"],
    ["divider", 2, undefined, 0, "own"],
    ["reply", 3, 4, 0, "own"],
    ["effect", 5, 8, 0, "own"],
    ["nested", 6, undefined, 1, "own"],
  ]);
  expect(shown("b", [6]).at(-1)).toEqual(["message", 7, undefined, 2, "own"]);
});

test("what was adopted stands where it was taken over, and says so", () => {
  expect(shown("a").map(([type, row, , , origin]) => [type, row, origin])).toEqual([
    ["divider", 0, "own"],
    ["message", 1, "own"],
    ["divider", 2, "adopted"],
    ["reply", 3, "adopted"],
    ["effect", 5, "adopted"],
    ["nested", 6, "adopted"],
    ["divider", 9, "own"],
    ["message", 10, "own"],
  ]);
  expect(conversationOf(lineage, "a", new Set()).filter(({ enters }) => enters)).toHaveLength(1);
});

test("an event is found in the item that shows it", () => {
  const items = conversationOf(lineage, "b", new Set());
  expect([itemAt(items, 8), itemAt(items, 4), itemAt(items, 7)]).toEqual([4, 3, 4]);
  expect(conversationOf(lineage, "nobody", new Set())).toEqual([]);
});
