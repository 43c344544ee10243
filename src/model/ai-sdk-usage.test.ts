import { MockLanguageModelV3, simulateReadableStream } from "ai/test";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { callModel, fakeModel, finishPart, type Version } from "../../test/support/model-call.ts";
import { aiSdkModel } from "./ai-sdk.ts";

async function usage(version: Version, provider: string, given: object, metadata?: object) {
  return (await callModel(aiSdkModel(fakeModel([finishPart(version, "stop", given, metadata)], { version, provider })))).reply.usage;
}

const count = fc.nat(1_000_000);
/** What really happened: the parts of which the sums are made. */
const truth = fc.record({ uncached: count, cached: count, written: count, text: count, reasoning: count });

describe("the law of usage: input is uncached + cached + written, output includes reasoning", () => {
  const expected = (of: { uncached: number; cached: number; written: number; text: number; reasoning: number }) => ({
    input: of.uncached + of.cached + of.written,
    output: of.text + of.reasoning,
    cached: of.cached,
    cacheWrite: of.written,
    reasoning: of.reasoning,
  });

  test.each(["v3", "v4"] as const)("%s, whichever of the figures a provider gives", async (version) => {
    await fc.assert(
      fc.asyncProperty(truth, fc.boolean(), fc.boolean(), async (of, totals, parts) => {
        fc.pre(totals || parts);
        const input = { cacheRead: of.cached, cacheWrite: of.written };
        const given = {
          inputTokens: {
            ...input,
            total: totals ? of.uncached + of.cached + of.written : undefined,
            noCache: parts ? of.uncached : undefined,
          },
          outputTokens: { reasoning: of.reasoning, total: totals ? of.text + of.reasoning : undefined, text: parts ? of.text : undefined },
        };
        expect(await usage(version, "test.chat", given)).toEqual(expected(of));
      }),
      { numRuns: 60 },
    );
  });

  test("V2 of Anthropic, which counts the cache apart and tells what was written in its metadata", async () => {
    await fc.assert(
      fc.asyncProperty(truth, async (of) => {
        const given = {
          inputTokens: of.uncached,
          outputTokens: of.text + of.reasoning,
          cachedInputTokens: of.cached,
          reasoningTokens: of.reasoning,
        };
        expect(await usage("v2", "anthropic.messages", given, { anthropic: { cacheCreationInputTokens: of.written } })).toEqual(
          expected(of),
        );
        expect(await usage("v2", "amazon-bedrock", given, { bedrock: { usage: { cacheWriteInputTokens: of.written } } })).toEqual(
          expected(of),
        );
      }),
      { numRuns: 40 },
    );
  });

  test("V2 of OpenAI, which includes both, and of Google, which leaves thoughts out", async () => {
    await fc.assert(
      fc.asyncProperty(truth, async (of) => {
        const told = { ...of, written: 0 };
        const given = { inputTokens: of.uncached + of.cached, cachedInputTokens: of.cached, reasoningTokens: of.reasoning };
        expect(await usage("v2", "openai.responses", { ...given, outputTokens: of.text + of.reasoning })).toEqual(expected(told));
        expect(await usage("v2", "google.generative-ai", { ...given, outputTokens: of.text })).toEqual(expected(told));
      }),
      { numRuns: 40 },
    );
  });

  test("holds as a bound for figures that make no sense", async () => {
    const odd = fc.oneof(count, fc.double(), fc.constant(undefined), fc.constant(null), fc.string(), fc.constant(-3));
    const flat = fc.record({ inputTokens: odd, outputTokens: odd, cachedInputTokens: odd, reasoningTokens: odd });
    const nested = fc.record({
      inputTokens: fc.record({ total: odd, noCache: odd, cacheRead: odd, cacheWrite: odd }),
      outputTokens: fc.record({ total: odd, text: odd, reasoning: odd }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(flat, nested, fc.constant({})),
        fc.constantFrom<Version>("v2", "v3", "v4"),
        fc.constantFrom("anthropic.messages", "openai.chat", "google.generative-ai", "x"),
        async (given, version, provider) => {
          const found = await usage(version, provider, given);
          expect(Object.values(found).every((tokens) => Number.isSafeInteger(tokens) && tokens >= 0)).toBe(true);
          expect(found.input).toBeGreaterThanOrEqual(found.cached + found.cacheWrite);
          expect(found.output).toBeGreaterThanOrEqual(found.reasoning);
        },
      ),
      { numRuns: 200 },
    );
  });
});

test("the AI SDK's own test model is a model", async () => {
  const third = new MockLanguageModelV3({
    provider: "openai.responses",
    modelId: "gpt-5.5",
    doStream: async () => ({
      stream: simulateReadableStream({
        chunks: [
          { type: "stream-start", warnings: [] },
          { type: "text-start", id: "1" },
          { type: "text-delta", id: "1", delta: "Hi" },
          { type: "text-end", id: "1" },
          {
            type: "finish",
            finishReason: { unified: "stop", raw: "stop" },
            usage: {
              inputTokens: { total: 30, noCache: 5, cacheRead: 20, cacheWrite: 5 },
              outputTokens: { total: 9, text: 2, reasoning: 7 },
            },
          },
        ],
      }),
    }),
  });
  const model = aiSdkModel(third);
  expect(model.id).toBe("openai/gpt-5.5");
  expect((await callModel(model)).reply).toEqual({
    parts: [{ type: "text", text: "Hi" }],
    finish: "stop",
    usage: { input: 30, output: 9, cached: 20, cacheWrite: 5, reasoning: 7 },
  });
});
