import { describe, expect, test } from "vitest";
import { cost, priceOf, pricesVersion } from "./prices.ts";

const usage = { input: 1_000_000, output: 1_000_000, cached: 0, cacheWrite: 0, reasoning: 0 };

describe("priceOf", () => {
  test("knows a model by its provider, without one, with a date and as the latest", () => {
    const price = priceOf("openai/gpt-5");
    expect(price).toEqual({ table: pricesVersion, input: 1.25, output: 10, cached: 0.125, cacheWrite: 1.25 });
    for (const name of ["gpt-5", "openai/gpt-5-2025-08-07", "gpt-5-2025-08-07", "openai/gpt-5-chat-latest"])
      expect(priceOf(name)).toEqual(price);
    expect(priceOf("anthropic/claude-haiku-4-5-20251001")).toEqual(priceOf("anthropic/claude-haiku-4-5"));
    expect(priceOf("google/gemini-2.0-flash-001")).toEqual(priceOf("gemini-2.0-flash"));
    expect(priceOf("openai/gpt-4o-2024-05-13")?.input).toBe(5);
  });

  test("does not guess: other providers, neighbours of a name and inherited names have no price", () => {
    for (const name of [
      "openai/gpt-5-ultra",
      "azure/gpt-5",
      "openrouter/openai/gpt-5",
      "anthropic/gpt-5",
      "compatible/x",
      "toString",
      "openai/toString",
      "",
      "/",
      "constructor/x",
    ])
      expect(priceOf(name), name).toBeUndefined();
    expect(priceOf("gemini-2.5-flash-preview-05-20")).toBeUndefined();
  });

  test("embedding models cost what they read; a version at the end is part of their name", () => {
    expect(cost(priceOf("openai/text-embedding-3-small")!, { ...usage, output: 0 })).toBeCloseTo(0.02, 12);
    expect(priceOf("openai/text-embedding-ada-002")?.input).toBe(0.1);
    expect(priceOf("google/gemini-embedding-001")).toMatchObject({ input: 0.15, output: 0 });
    expect(priceOf("google/gemini-embedding")).toBeUndefined();
  });

  test("one's own machines cost nothing", () => {
    expect(cost(priceOf("ollama/llama3.3:70b")!, usage)).toBe(0);
    expect(cost(priceOf("vllm/anything/at-all")!, usage)).toBe(0);
  });

  test("one's own prices come first, also for dated names", () => {
    const own = { "openai/gpt-5": { input: 1, output: 2, cached: 0.5 } };
    expect(priceOf("openai/gpt-5-2025-08-07", own)).toEqual({ table: "own", input: 1, output: 2, cached: 0.5, cacheWrite: 1 });
    expect(priceOf("m", { m: { input: 1, output: 2, cached: undefined as never } })).toMatchObject({ cached: 1, cacheWrite: 1 });
    expect(priceOf("openai/gpt-5-mini", own)?.table).toBe(pricesVersion);
    expect(priceOf("toString", own)).toBeUndefined();
  });

  test("every listed price is a number above zero and reading the cache never costs more than input", () => {
    for (const name of ["gpt-5.5", "gpt-6-sol", "claude-opus-5-5", "claude-sonnet-5", "gemini-3.1-pro-preview", "gpt-5.6"]) {
      const price = priceOf(name)!;
      expect(price.input).toBeGreaterThan(0);
      expect(price.output).toBeGreaterThan(price.input);
      expect(price.cached).toBeLessThanOrEqual(price.input);
    }
  });
});

describe("cost", () => {
  test("counts uncached, cached and written input apart", () => {
    const price = priceOf("anthropic/claude-sonnet-4-6")!;
    expect(cost(price, { input: 1_000_000, output: 0, cached: 400_000, cacheWrite: 100_000, reasoning: 0 })).toBeCloseTo(
      0.5 * 3 + 0.4 * 0.3 + 0.1 * 3.75,
      10,
    );
    expect(cost(price, { input: 0, output: 1_000_000, cached: 0, cacheWrite: 0, reasoning: 900_000 })).toBe(15);
  });

  test("a long input makes the whole call dearer", () => {
    const of = (input: number) => priceOf("openai/gpt-5.5", {}, input);
    expect(of(271_999)).toEqual({ table: pricesVersion, input: 5, output: 30, cached: 0.5, cacheWrite: 5 });
    expect(of(272_000)).toEqual({ table: pricesVersion, input: 10, output: 45, cached: 1, cacheWrite: 10 });
    expect(of(0)).toEqual(priceOf("openai/gpt-5.5"));
    expect(priceOf("openai/gpt-5", {}, 10_000_000)).toEqual(priceOf("openai/gpt-5"));
  });
});
