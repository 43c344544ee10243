import { expect, test } from "vitest";
import type { Model } from "../session/model.ts";
import { scripted } from "./scripted.ts";
import { windowOf } from "./windows.ts";

test("a model is known by its provider and name, also with a date", () => {
  expect(windowOf("openai/gpt-4o")).toBe(128_000);
  expect(windowOf("openai/gpt-4o-2024-08-06")).toBe(128_000);
  expect(windowOf("anthropic/claude-haiku-4-5-20251001")).toBe(200_000);
  expect(windowOf({ specificationVersion: "v3", provider: "google.generative-ai", modelId: "gemini-2.5-pro", doStream: never })).toBe(
    1_048_576,
  );
});

test("nothing is guessed: other providers, neighbours, windows that differ by tier, and inherited names", () => {
  for (const name of ["openai/gpt-9", "azure/gpt-4o", "gpt-4o", "anthropic/claude-sonnet-4-5", "openai/toString", "toString/x", "", "/"])
    expect(windowOf(name), name).toBeUndefined();
});

test("a model of one's own says it itself; a substitute counts for what it is", () => {
  const own: Model = { ...scripted("hi"), contextWindow: 1000 };
  expect(windowOf(own)).toBe(1000);
  expect(windowOf({ ...own, contextWindow: -1 })).toBeUndefined();
  expect(windowOf("fast", { fast: "openai/gpt-4o" })).toBe(128_000);
  expect(windowOf("openai/gpt-4o", { "openai/*": own })).toBe(1000);
  expect(windowOf("openai/gpt-4o", { "openai/*": scripted("hi") })).toBeUndefined();
  expect(windowOf("a", { a: "b", b: "a" })).toBeUndefined();
});

function never(): never {
  throw new Error("not called");
}
