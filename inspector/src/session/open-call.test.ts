import { expect, test } from "vitest";
import { openCall } from "./open-call.ts";

test("a call without a result waits, or is under way while somebody executes it, or just has none", () => {
  expect([openCall(true, true), openCall(true, false), openCall(false, true), openCall(false, false)]).toEqual([
    ...["waiting", "waiting"],
    ...["under way", "no result"],
  ]);
});
