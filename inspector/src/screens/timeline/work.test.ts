import { describe, expect, it } from "vitest";
import { lineageOf, type Row } from "../../lineage/lineage-of.ts";
import { Axis, tickText } from "./axis.ts";
import { laneOrder } from "./lane-order.ts";
import { pathsOf, type View, workAt } from "./paths.ts";
import { Spans } from "./spans.ts";
import { type Work, Works } from "./work.ts";

function worksOf(rows: readonly Row[]): Works {
  return new Works().read(lineageOf(rows));
}

function only(works: Works): Work {
  const all = works.inOrder();
  expect(all).toHaveLength(1);
  return all[0] as Work;
}

describe("works", () => {
  it("a model call goes from its call to its result", () => {
    const works = worksOf([
      { kind: "model.called", at: 1000 },
      { kind: "model.returned", at: 3000, ms: 1999, usage: [100, 20, 0.5] },
    ]);
    expect(only(works)).toMatchObject({ kind: "model", before: undefined, from: 1000, begin: 1000, to: 3000, row: 1, call: 0 });
    expect(works.lanes[0]).toMatchObject({ by: "agent", calls: 1, failed: 0, input: 100, output: 20, usd: 0.5 });
    expect(works.paid).toEqual([{ at: 3000, usd: 0.5, tokens: 120, lane: 0 }]);
  });

  it("whatever was paid for counts, also what finds memories and what a foreign file says", () => {
    const works = worksOf([
      { kind: "session.imported", at: 500, by: "import", ms: 0, usage: [7, 3, 0.25] },
      { kind: "recall.called", at: 1000 },
      { kind: "recall.returned", at: 1100, ms: 100, usage: [10, 0, 0.5] },
    ]);
    expect(works.usd).toBe(0.75);
    expect(works.lanes.map(({ by, input, output, usd }) => [by, input, output, usd])).toEqual([
      ["import", 7, 3, 0.25],
      ["agent", 10, 0, 0.5],
    ]);
  });

  it("a tool that a person had to allow waited for that person until it began", () => {
    const works = worksOf([
      { kind: "tool.called", at: 1000 },
      { kind: "tool.started", at: 61_000 },
      { kind: "tool.returned", at: 61_500, ms: 500, decided: true },
    ]);
    expect(only(works)).toMatchObject({ kind: "tool", before: "person", from: 1000, begin: 61_000, to: 61_500, call: 0 });
    expect(works.waitingForPeople.length).toBe(60_000);
    expect(works.lanes[0]?.busy.length).toBe(500);
  });

  it("what a person refused was nothing but waiting, and a question is too", () => {
    const works = worksOf([
      { kind: "tool.called", at: 0 },
      { kind: "tool.returned", at: 4000, decided: true, outcome: "denied" },
      { kind: "ask.called", at: 5000 },
      { kind: "ask.returned", at: 9000 },
    ]);
    expect(works.inOrder().map(({ kind }) => kind)).toEqual(["person", "person"]);
    expect(works.waitingForPeople.length).toBe(8000);
    expect(works.lanes[0]?.failed).toBe(1);
  });

  it("time before the last attempt went by with tries, and time before anything began with waiting", () => {
    const works = worksOf([
      { kind: "model.called", at: 0 },
      { kind: "model.returned", at: 3000, ms: 1000, attempts: 3 },
      { kind: "do.called", at: 3000 },
      { kind: "do.returned", at: 5000, ms: 500 },
      { kind: "wait.called", at: 5000 },
      { kind: "wait.returned", at: 9000 },
    ]);
    expect(works.inOrder().map(({ kind, before }) => [kind, before])).toEqual([
      ["model", "retry"],
      ["other", "wait"],
      ["wait", undefined],
    ]);
    expect(works.lanes[0]?.waiting.length).toBe(5500);
    expect(works.working.length).toBe(3500);
  });

  it("what goes on at the same time lies beside each other, and its time counts once", () => {
    const works = worksOf([
      { kind: "tool.called", at: 0 },
      { kind: "tool.called", at: 0 },
      { kind: "tool.returned", at: 50, ms: 50, call: 1 },
      { kind: "tool.returned", at: 100, ms: 100, call: 0 },
      { kind: "tool.called", at: 100 },
      { kind: "tool.returned", at: 150, ms: 50 },
    ]);
    expect(works.lanes[0]?.works.map(({ sub, from, to }) => [sub, from, to])).toEqual([
      [0, 0, 50],
      [1, 0, 100],
      [0, 100, 150],
    ]);
    expect(works.lanes[0]?.busy.length).toBe(150);
  });

  it("nested agents have lanes of their own below whoever they work for", () => {
    const works = worksOf([
      { kind: "tool.called", at: 0, by: "lead" },
      { kind: "model.called", at: 10, by: "lead/team/researcher" },
      { kind: "model.returned", at: 90, by: "lead/team/researcher", ms: 80 },
      { kind: "tool.returned", at: 100, by: "lead", ms: 100, call: 0 },
      { kind: "do.called", at: 100, by: "other" },
      { kind: "do.returned", at: 110, by: "other", ms: 10 },
    ]);
    const lanes = laneOrder(works.lanes);
    expect(lanes.map(({ name, depth }) => [name, depth])).toEqual([
      ["lead", 0],
      ["team/researcher", 1],
      ["other", 0],
    ]);
    expect(works.working.length).toBe(110);
  });

  it("rows that are added later are taken in once", () => {
    const rows: Row[] = [
      { kind: "model.called", at: 0 },
      { kind: "model.returned", at: 10, ms: 10 },
      { kind: "tool.called", at: 20 },
    ];
    const lineage = lineageOf(rows);
    const works = new Works().read(lineage).read(lineage);
    expect(works.lanes[0]?.calls).toBe(1);
    expect(works.open(lineage, 500, new Set())).toMatchObject([{ kind: "tool", from: 20, to: 20, open: true }]);
    const waiting = works.open(lineage, 500, new Set([2]));
    expect(waiting).toMatchObject([{ kind: "person", from: 20, to: 500 }]);
    expect([works.waitedForPeople([]), works.waitedForPeople(waiting)]).toEqual([0, 480]);
    expect([works.waitedIn(0), works.waitedIn(0, waiting)]).toEqual([0, 480]);
    expect([works.waitingForPeople.length, works.lanes[0]?.waiting.length]).toEqual([0, 0]);
    lineage.add({
      ...{ id: "f".repeat(64), session: "s", parents: [lineage.id(2)], step: 4, kind: "tool.returned", version: 1, by: "agent" },
      ...{ at: new Date(80).toISOString(), facts: { ms: 60 }, data: {} },
    });
    expect(works.read(lineage).inOrder()).toMatchObject([{ to: 10 }, { from: 20, to: 80 }]);
    expect(works.open(lineage, 500, new Set())).toEqual([]);
  });

  it("long idle time is a break, a long wait for a person too, and short pauses are not", () => {
    const works = worksOf([
      { kind: "model.called", at: 0 },
      { kind: "model.returned", at: 1000, ms: 1000 },
      { kind: "model.called", at: 4000 },
      { kind: "model.returned", at: 5000, ms: 1000 },
      { kind: "ask.called", at: 5000 },
      { kind: "ask.returned", at: 3_605_000 },
      { kind: "model.called", at: 3_605_000 },
      { kind: "model.returned", at: 3_606_000, ms: 1000 },
    ]);
    const axis = new Axis(works.active.list);
    expect(axis.breaks).toEqual([{ from: 5000, to: 3_605_000, at: 5000 }]);
    expect(axis.length).toBeLessThan(7000);
  });
});

describe("spans", () => {
  it("are joined where they overlap, in whatever order they come", () => {
    const spans = new Spans();
    for (const [from, to] of [
      [10, 20],
      [30, 40],
      [50, 60],
      [15, 35],
      [0, 5],
    ] as const)
      spans.add(from, to);
    expect(spans.list).toEqual([
      { from: 0, to: 5 },
      { from: 10, to: 40 },
      { from: 50, to: 60 },
    ]);
    expect(spans.length).toBe(45);
  });
});

describe("axis", () => {
  const axis = new Axis([
    { from: 1000, to: 2000 },
    { from: 100_000, to: 102_000 },
  ]);

  it("places times and finds them again, on both sides of a break and inside of it", () => {
    for (const time of [1000, 1500, 2000, 50_000, 100_000, 101_234, 102_000]) expect(axis.time(axis.place(time))).toBeCloseTo(time, 3);
    expect(axis.place(2000)).toBe(1000);
    expect(axis.place(100_000)).toBe(1000 + axis.breakLength);
    expect(axis.place(0)).toBe(0);
    expect(axis.place(1e9)).toBe(axis.length);
  });

  it("names round times that lie apart", () => {
    const ticks = axis.ticks(0, axis.length, 400);
    expect(ticks.length).toBeGreaterThan(3);
    expect(ticks.every((time) => (time - 1000) % 500 === 0)).toBe(true);
    for (const [index, time] of ticks.entries())
      if (index > 0) expect(axis.place(time) - axis.place(ticks[index - 1] as number)).toBeGreaterThanOrEqual(360);
  });
});

describe("names of times", () => {
  it("are as exact as they must be to be told apart", () => {
    expect([0, 500, 1500, 12_345].map((elapsed) => tickText(elapsed, 500))).toEqual(["0", "500 ms", "1.5 s", "12.3 s"]);
    expect(tickText(12_345, 1)).toBe("12.345 s");
    expect(tickText(65_000, 5000)).toBe("1:05");
    expect(tickText(23_670_500, 500)).toBe("6:34:30.5");
  });
});

describe("drawing", () => {
  it("draws a hundred thousand works with a path for each kind, no longer than the screen is wide", () => {
    const rows = Array.from({ length: 100_000 }, (_, index): Row => {
      const at = Math.floor(index / 2) * 20 + (index % 2) * 10;
      return index % 2 === 0 ? { kind: "model.called", at } : { kind: "model.returned", at, ms: 9, usage: [10, 1, 0.001] };
    });
    const lineage = lineageOf(rows);
    const began = performance.now();
    const works = new Works().read(lineage);
    const axis = new Axis(works.active.list);
    const view: View = { axis, left: 0, right: axis.length, width: 1000 };
    const lane = works.lanes[0]?.works ?? [];
    const paths = pathsOf(lane, view);
    const took = performance.now() - began;
    expect([...paths.keys()]).toEqual(["model"]);
    expect((paths.get("model") ?? "").split("M").length).toBeLessThan(1100);
    expect(took).toBeLessThan(5000);
    const near: View = { axis, left: 0, right: 100, width: 1000 };
    expect((pathsOf(lane, near).get("model") ?? "").split("M").length - 1).toBe(6);
    expect(workAt(lane, near, 250, 10)).toMatchObject({ work: { row: 3 }, more: 0 });
    expect(workAt(lane, near, 150, 10)).toBeUndefined();
  });
});
