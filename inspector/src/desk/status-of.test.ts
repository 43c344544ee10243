import { expect, test } from "vitest";
import { statusOf } from "./status-of.ts";

const owner = "box:1:a";
const open = new Map([
  ["a", [{ status: "waiting" }, { status: "running", owner }]],
  ["b", [{ status: "queued" }, { status: "waiting" }]],
  ["c", [{ status: "queued" }]],
  ["d", [{ status: "running" }]],
]);

test("a session stands as its runs do: at work, waiting, queued; a run that nobody executes says nothing", () => {
  const told = [..."abcde"].map((id) => statusOf({ id, status: "idle" }, { open, isWhole: true }));
  expect(told).toEqual(["running", "waiting", "queued", "idle", "idle"]);
  expect([statusOf({ id: "a" }, { open, isWhole: true }), statusOf({ id: "e" }, { open, isWhole: true })]).toEqual(["running", undefined]);
});

test("where not all runs are known, what the list said of it counts for those that have none here", () => {
  const row = { status: "idle", standing: "waiting" } as const;
  expect([..."ce"].map((id) => statusOf({ id, ...row }, { open, isWhole: false }))).toEqual(["queued", "waiting"]);
  expect(statusOf({ id: "e", ...row }, { open, isWhole: true })).toBe("idle");
});
