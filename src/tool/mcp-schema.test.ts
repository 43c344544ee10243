import { expect, test } from "vitest";
import { lazyCheck } from "./mcp-schema.ts";

const check = lazyCheck({
  $schema: "http://json-schema.org/draft-07/schema#",
  type: "object",
  properties: {
    city: { type: "string" },
    days: { type: "integer", minimum: 1, default: 3 },
    at: { type: "object", properties: { n: { type: "number" } } },
  },
  required: ["city"],
});

test("an input that fits is taken as it is, without defaults filled in or fields left out", async () => {
  expect(await check({ city: "Oslo", more: 1 })).toEqual({ value: { city: "Oslo", more: 1 } });
});

test("problems name the field and what was expected", async () => {
  expect(await check({ days: 0, at: { n: "x" } })).toEqual({
    problems: [
      "city: expected string, received undefined",
      "days: Too small: expected number to be >=1",
      "at.n: expected number, received string",
    ],
  });
  expect(await check("Oslo")).toEqual({ problems: ["expected object, received string"] });
});

test("a schema that cannot be converted accepts every object", async () => {
  const loose = lazyCheck({ type: "object", if: {}, else: {} });
  expect(await loose({ any: "thing" })).toEqual({ value: { any: "thing" } });
  expect(await loose([])).toEqual({ problems: ["expected object"] });
});

test("a pattern of the server is never run, and a field called pattern is checked", async () => {
  const slow = lazyCheck({ type: "object", properties: { pattern: { type: "string", pattern: "^(a+)+$" } }, required: ["pattern"] });
  const started = performance.now();
  expect(await slow({ pattern: `${"a".repeat(40)}!` })).toEqual({ value: { pattern: `${"a".repeat(40)}!` } });
  expect(performance.now() - started).toBeLessThan(5000);
  expect(await slow({ pattern: 1 })).toEqual({ problems: ["pattern: expected string, received number"] });
});
