import { expect, test } from "vitest";
import { type Hop, inTree, relationText } from "./hop-tree.ts";

const hop = (...explains: number[]): Hop => ({ relation: "wrote", explains, summary: "", evidence: {}, event: {} as Hop["event"] });

test("every hop stands once, under what it explains", () => {
  const placed = inTree([hop(), hop(0), hop(1), hop(0, 1), hop(2)]);
  expect(placed.map(({ index, depth }) => [index, depth])).toEqual([
    [0, 0],
    [1, 1],
    [2, 2],
    [4, 3],
    [3, 1],
  ]);
});

test("a hop that explains itself or what comes after it is not lost", () => {
  expect(inTree([hop(0), hop(2), hop()]).map(({ index }) => index)).toEqual([0, 1, 2]);
});

test("what was in context is never said to be a cause", () => {
  const said = (relation: string, kind: string, depth: number): string =>
    relationText({ hop: { ...hop(), relation, event: { kind } as Hop["event"] }, depth });
  expect(said("was-in-context", "message.added", 3)).toBe("was in context");
  expect(said("wrote", "remember.called", 0)).toBe("written by");
  expect(said("wrote", "remember.called", 1)).toBe("was read before, written by");
  expect(said("wrote", "tool.returned", 2)).toBe("written by");
  expect(said("of-another-day", "x", 1)).toBe("of another day");
});
