import { describe, expect, test } from "vitest";
import type { SessionRow } from "../../../../src/client/client.ts";
import { byAgent, byCost, costOverTime, isAllCounted, spentOf, totalUsd } from "./sums.ts";

const zero = { input: 0, output: 0, cached: 0, cacheWrite: 0, reasoning: 0, usd: 0 };
const row = (id: string, changed: string, usd: number, own = usd): SessionRow => ({
  ...{ id, head: id, tags: [], step: 1, changed },
  usage: { ...zero, usd, own: { ...zero, usd: own } },
});

const roots = { withBranches: false, spentBy: () => undefined };
const branches = { withBranches: true, spentBy: () => undefined };

describe("cost over time", () => {
  test("puts every session into the part in which it changed, the newest into the last", () => {
    const rows = [row("a", "2026-01-01T10:00:00Z", 3), row("b", "2026-01-01T00:00:00Z", 1), row("c", "2026-01-01T02:00:00Z", 2)];
    expect(costOverTime(rows, 5, roots).map(({ usd }) => usd)).toEqual([1, 2, 0, 0, 3]);
  });
  test("has one moment where there is but one, and nothing where there is nothing", () => {
    expect(costOverTime([row("a", "2026-01-01T10:00:00Z", 3)], 3, roots).reduce((sum, { usd }) => sum + usd, 0)).toBe(3);
    expect(costOverTime([], 3, roots)).toEqual([]);
  });
  test("counts nothing twice where branches are listed beside what they began on", () => {
    expect(costOverTime([row("a", "2026-01-01T10:00:00Z", 3, 1)], 1, branches)[0]?.usd).toBe(1);
  });
});

describe("the order by cost", () => {
  test("counts what lies behind a root, or what is a branch's own; equal ones keep their order", () => {
    const rows = [row("a", "2026-01-01T00:00:00Z", 1), row("b", "2026-01-01T00:00:00Z", 3, 0), row("c", "2026-01-01T00:00:00Z", 1)];
    expect(byCost(rows, roots).map(({ id }) => id)).toEqual(["b", "a", "c"]);
    expect(byCost(rows, branches).map(({ id }) => id)).toEqual(["a", "c", "b"]);
  });
});

describe("what branches that were left behind spent", () => {
  const read = { withBranches: false, spentBy: ({ id }: SessionRow) => (id === "a" ? { tokens: 70, usd: 9 } : undefined) };
  const rows = [row("a", "2026-01-01T00:00:00Z", 1), row("b", "2026-01-01T00:00:00Z", 3)];

  test("counts with their root once it was read, and moves it in the order", () => {
    expect([spentOf(rows[0] as SessionRow, read), totalUsd(rows, read), totalUsd(rows, roots)]).toEqual([{ tokens: 70, usd: 9 }, 12, 4]);
    expect([byCost(rows, read), byCost(rows, roots)].map((order) => order.map(({ id }) => id))).toEqual([
      ["a", "b"],
      ["b", "a"],
    ]);
    expect(costOverTime(rows, 1, read)[0]?.usd).toBe(12);
  });
  test("counts with themselves where they are listed", () => {
    expect(totalUsd(rows, { ...read, withBranches: true })).toBe(4);
  });
  test("is said to be missing as long as a root with branches was not read", () => {
    expect(isAllCounted(rows, read)).toBe(false);
    expect(isAllCounted(rows, branches)).toBe(true);
    expect(isAllCounted([rows[0] as SessionRow, { ...(rows[1] as SessionRow), children: 0 }], read)).toBe(true);
  });
});

describe("tokens by agent", () => {
  test("are added up over sessions by the name of the agent, the most first", () => {
    const spent = [
      [{ agent: "team/coder", tokens: 5, usd: 1 }],
      [
        { agent: "coder", tokens: 2, usd: 1 },
        { agent: "lead", tokens: 9, usd: 2 },
        { agent: "idle", tokens: 0, usd: 0 },
      ],
    ];
    expect(byAgent(spent, 5)).toEqual([
      { agent: "lead", tokens: 9, usd: 2 },
      { agent: "coder", tokens: 7, usd: 2 },
    ]);
  });
  test("end with the rest as one", () => {
    const spent = ["a", "b", "c", "d"].map((agent, index) => [{ agent, tokens: 10 - index, usd: 1 }]);
    expect(byAgent(spent, 3).map(({ agent, tokens }) => [agent, tokens])).toEqual([
      ["a", 10],
      ["b", 9],
      ["2 others", 15],
    ]);
  });
});
