import { expect, test } from "vitest";
import { storeConformance } from "../testing/store-conformance.ts";
import { memoryStore } from "./memory.ts";

storeConformance({ name: "memory", create: () => memoryStore() });

test("a skip must name a test of the suite", () => {
  const skip = [{ test: "no such test", reason: "none" }];
  expect(() => storeConformance({ name: "wrong", create: () => memoryStore(), skip })).toThrow("no such test");
});
