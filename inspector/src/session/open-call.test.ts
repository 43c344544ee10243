import { expect, test } from "vitest";
import { kindsIn, openCall } from "./open-call.ts";

test("a call without a result waits, or is under way while somebody executes it, or just has none", () => {
  expect([openCall(true, true), openCall(true, false), openCall(false, true), openCall(false, false)]).toEqual([
    ...["waiting", "waiting"],
    ...["under way", "no result"],
  ]);
});

// Mutant: what waits is looked for under the id it has alone.
test("what waits is the call, also where it waits under the mark that it was started, and nothing where it is not here", () => {
  const kinds = ["tool.called", "tool.called", "tool.started"];
  const lineage = {
    rowOf: (id: string) => (kinds[Number(id)] === undefined ? undefined : Number(id)),
    kind: (row: number) => kinds[row] as string,
    callBehind: () => 1,
  };
  const items = [
    { id: "0", kind: "approval" },
    { id: "2", kind: "unknown" },
    { id: "9", kind: "timer" },
  ];
  expect([...kindsIn(lineage, items)]).toEqual([
    [0, "approval"],
    [1, "unknown"],
  ]);
});
