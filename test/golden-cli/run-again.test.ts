/** A run that is started again with its key says that nothing is done again. */
import { expect, test } from "vitest";
import { call, lastingStore } from "./world.ts";

test("the second time with one key is told from the record", async () => {
  const store = lastingStore();
  const argv = ["run", "forecast", "--input", "How warm is it?", "--key", "monday"];
  const [first, second] = [await call(store, argv, { terminal: true }), await call(store, argv, { terminal: true })];
  const again = /run \S+, started before with this key: what has a result comes from the record/;
  expect([first?.exit, second?.exit]).toEqual([0, 0]);
  expect(first?.err).not.toMatch(again);
  expect(second?.err).toMatch(again);
});
