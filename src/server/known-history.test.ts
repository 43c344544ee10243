import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { openrath } from "../openrath.ts";
import { history } from "../session/log.ts";
import { placeOf } from "../session/value.ts";
import { historyOf } from "./known-history.ts";

// Mutant: the lists are kept by place.
test("what lies behind a place is listed once, and a session that grows keeps one list alone", async () => {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as () => void;
  await using rath = openrath({ store: "memory" });
  const first = rath.session("one");
  const older = placeOf(first).node;
  const kept = new WeakRef(historyOf(older));
  expect(historyOf(older)).toBe(kept.deref());
  const { node: newer } = placeOf(first.say("two"));
  expect(historyOf(newer)).toEqual(history(newer));
  expect(newer.log).toBe(older.log);
  await new Promise((resolve) => setTimeout(resolve)); // what was looked at stays until then
  gc();
  expect(kept.deref()).toBeUndefined();
  expect(historyOf(older)).toEqual(history(older));
});
