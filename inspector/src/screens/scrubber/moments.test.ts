import { describe, expect, it } from "vitest";
import { branchRows, madeOfBranch } from "../../lineage/branch-rows.ts";
import { lineageOf } from "../../lineage/lineage-of.ts";
import { modelCallsOn } from "../call/model-calls.ts";
import { hasMoment, momentMarks, momentsOn, newestOf, nextMoment, openCalls } from "./moments.ts";

const lineage = lineageOf([
  { kind: "session.created", at: 0 },
  { kind: "message.added", at: 1 },
  { kind: "model.called", at: 2 },
  { kind: "model.returned", at: 3, ms: 1 },
  { kind: "tool.called", at: 4 },
  { kind: "tool.called", at: 4 },
  { kind: "tool.started", at: 5, call: 4 },
  { kind: "tool.returned", at: 6, call: 4, files: true },
  { kind: "tool.returned", at: 7, call: 5, outcome: "error" },
  { kind: "remember.called", at: 8 },
  { kind: "remember.returned", at: 9 },
  { kind: "model.called", at: 10 },
]);
const rows = branchRows(lineage, "s");

describe("moments of a branch", () => {
  it("the events of a branch are walked from the first to the newest, and what is added goes on", () => {
    expect(rows).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    expect(branchRows(lineage, "s")).toBe(rows);
    expect(branchRows(lineage, "nobody")).toEqual([]);
  });

  it("steps go to events, turns, errors and writes, before and after", () => {
    const next = (moment: Parameters<typeof nextMoment>[2]["moment"], from: number, by: 1 | -1 = 1): number | undefined =>
      nextMoment(lineage, rows, { from, moment, by });
    expect(next("event", 3)).toBe(4);
    expect(next("event", 11)).toBeUndefined();
    expect([next("turn", 0), next("turn", 1), next("turn", 2)]).toEqual([1, 2, 11]);
    expect(next("turn", 11, -1)).toBe(2);
    expect([next("error", 0), next("error", 8)]).toEqual([8, undefined]);
    expect([next("write", 0), next("write", 7), next("write", 10, -1)]).toEqual([7, 10, 7]);
  });

  it("there is a next moment of a kind just where a step finds one", () => {
    for (const moment of ["event", "turn", "error", "write"] as const)
      for (const by of [1, -1] as const)
        for (const from of rows.keys()) {
          const found = nextMoment(lineage, rows, { from, moment, by }) !== undefined;
          expect([moment, by, from, hasMoment(lineage, "s", { from, moment, by, count: rows.length })]).toEqual([moment, by, from, found]);
        }
  });

  it("what had no result at a moment was waited for", () => {
    expect(openCalls(lineage, rows, 2)).toEqual([2]);
    expect(openCalls(lineage, rows, 6)).toEqual([5, 4]);
    expect(openCalls(lineage, rows, 7)).toEqual([5]);
    expect(openCalls(lineage, rows, 8)).toEqual([]);
  });

  it("marks name each pixel once", () => {
    const { write, turn, error } = momentsOn(lineage, "s");
    expect([turn, error]).toEqual([[1, 2, 11], [8]]);
    expect(momentMarks(write, rows.length, { width: 110, top: 0, height: 4 })).toBe("M70 0v4M100 0v4");
    expect(momentMarks([...rows.keys()], rows.length, { width: 2, top: 0, height: 4 }).split("M")).toHaveLength(4);
  });

  it("of a branch that goes on only what was added is read", () => {
    const growing = lineageOf([
      { kind: "session.created", at: 0 },
      { kind: "model.called", at: 1 },
    ]);
    const read: number[] = [];
    const seen = madeOfBranch(
      () => read,
      (made, _, row) => made.push(row),
    );
    seen(growing, "s");
    const calls = modelCallsOn(growing, "s");
    expect(calls).toEqual([{ call: 1, result: undefined }]);
    growing.add({
      ...{ id: "f".repeat(64), session: "s", kind: "model.returned", by: "agent", step: 3, at: new Date(2).toISOString() },
      ...{ parents: [growing.id(1)], facts: { outcome: "ok" }, data: {} },
    } as never);
    seen(growing, "s");
    seen(growing, "s");
    expect(read).toEqual([0, 1, 2]);
    expect(modelCallsOn(growing, "s")).toEqual([{ call: 1, result: 2 }]);
    expect(calls).toEqual([{ call: 1, result: undefined }]);
  });

  it("the newest of some kinds come first", () => {
    expect(newestOf(lineage, rows, 11, ["remember.returned", "tool.returned"], 2)).toEqual([10, 8]);
    expect(newestOf(lineage, rows, 7, ["remember.returned"], 2)).toEqual([]);
  });
});
