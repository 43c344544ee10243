import { expect, test } from "vitest";
import type { EventKind } from "../session/event.ts";
import { lanes } from "../wire/lanes.ts";
import { drawRow, graphWidth } from "./draw-lanes.ts";

function drawn(
  events: readonly (readonly [id: string, session: string, kind: EventKind, ...parents: string[]])[],
  ascii = false,
): readonly string[] {
  const rows = lanes(events.map(([id, session, kind, ...parents]) => ({ id, session, kind, parents, data: {} as never })));
  const width = graphWidth(rows);
  return rows.map((row) => drawRow(row, { ascii, width }).text.trimEnd());
}

const three = [
  ["a", "0", "session.created"],
  ["b", "1", "session.forked", "a"],
  ["c", "2", "session.forked", "a"],
  ["d", "3", "session.forked", "b"],
  ["e", "0", "session.merged", "a", "c", "d"],
  ["f", "1", "session.rejected", "b"],
] as const;

test("lines cross, join and end where branches do", () => {
  expect(drawn(three)).toEqual(["○", "├─○", "├─┼─○", "│ ├─┼─○", "◆─┼─┴─╯", "│ ✕"]);
});

test("the same in ASCII", () => {
  expect(drawn(three, true)).toEqual(["o", "|-o", "|-+-o", "| |-+-o", "M-+-'-'", "| x"]);
});

test("a branch on the left of its parent is joined from there", () => {
  const events = [
    ["a", "0", "session.created"],
    ["b", "1", "session.forked", "a"],
    ["c", "0", "session.rejected", "a"],
    ["d", "2", "session.forked", "b"],
    ["e", "1", "session.merged", "b", "d"],
  ] as const;
  expect(drawn(events)).toEqual(["○", "├─○", "✕ │", "○─┤", "╰─◆"]);
});
