import { expect, test } from "vitest";
import { item, keys, put } from "../testing/memory-case.ts";
import { memoryConformance } from "../testing/memory-conformance.ts";
import { volatileMemory } from "./volatile.ts";

memoryConformance({ name: "volatile", create: () => volatileMemory() });

test("a skip must name a test of the suite", () => {
  const skip = [{ test: "no such test", reason: "none" }];
  expect(() => memoryConformance({ name: "wrong", create: () => volatileMemory(), skip })).toThrow("no such test");
});

test("an item is found until the moment it expires, by the clock given", async () => {
  let now = 999;
  await using memory = volatileMemory({ clock: () => now });
  await put(memory, item("a", "text", { expires: new Date(1000).toISOString() }));
  expect(await keys(memory, "text")).toEqual(["a"]);
  now = 1000;
  expect(await keys(memory, "text")).toEqual([]);
});
