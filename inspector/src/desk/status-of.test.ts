import { expect, test } from "vitest";
import { statusOf } from "./status-of.ts";

test("a session that says nothing of it runs or waits as its run does; at work counts first", () => {
  const standing = { running: new Set(["a", "b"]), waiting: new Set(["b", "c", "e"]) };
  const told = ["a", "b", "c", "d"].map((id) => statusOf({ id, status: "idle" }, standing));
  expect(told).toEqual(["running", "running", "waiting", "idle"]);
  expect([statusOf({ id: "e" }, standing), statusOf({ id: "f" }, standing)]).toEqual(["waiting", undefined]);
});
