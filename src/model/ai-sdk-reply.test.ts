import { describe, expect, test } from "vitest";
import { callModel, failureFrom, fakeModel, finishPart, optionsOf, requestOf, type Version } from "../../test/support/model-call.ts";
import { aiSdkModel } from "./ai-sdk.ts";

const replyTo = async (parts: readonly object[], fields: Parameters<typeof fakeModel>[1] = {}) =>
  await callModel(aiSdkModel(fakeModel([...parts, finishPart(fields.version ?? "v3")], fields)));

describe("a stream", () => {
  test("gives deltas as they come and the parts in the order they began", async () => {
    const { parts, reply } = await replyTo([
      {
        type: "stream-start",
        warnings: [
          { type: "unsupported", feature: "seed", details: "ignored" },
          { type: "other", message: "Note." },
        ],
      },
      { type: "response-metadata", id: "resp_1", modelId: "model-2026-01-01" },
      { type: "reasoning-start", id: "0", providerMetadata: { openai: { itemId: "rs_1", reasoningEncryptedContent: null } } },
      { type: "reasoning-delta", id: "0", delta: "Hm" },
      { type: "text-start", id: "0" },
      { type: "text-delta", id: "0", delta: "Hel" },
      { type: "reasoning-end", id: "0", providerMetadata: { openai: { reasoningEncryptedContent: "enc" } } },
      { type: "tool-input-start", id: "c1", toolName: "add" },
      { type: "tool-input-delta", id: "c1", delta: '{"a"' },
      { type: "text-delta", id: "0", delta: "lo" },
      { type: "tool-input-delta", id: "c1", delta: ":1}" },
      { type: "tool-call", toolCallId: "c1", toolName: "add", input: '{"a":1}', providerMetadata: { google: { thoughtSignature: "t" } } },
      { type: "text-end", id: "0" },
      { type: "text-start", id: "0" },
      { type: "text-delta", id: "0", delta: "again" },
      { type: "text-end", id: "0" },
      { type: "text-start", id: "1" },
      { type: "text-end", id: "1" },
      { type: "raw", rawValue: {} },
      { type: "ping" },
    ]);
    expect(parts.slice(0, -1)).toEqual([
      { type: "reasoning-delta", text: "Hm" },
      { type: "text-delta", text: "Hel" },
      { type: "call-delta", call: "c1", tool: "add", text: '{"a"' },
      { type: "text-delta", text: "lo" },
      { type: "call-delta", call: "c1", tool: "add", text: ":1}" },
      { type: "text-delta", text: "again" },
    ]);
    expect(reply).toMatchObject({
      finish: "calls",
      id: "resp_1",
      model: "test/model-2026-01-01",
      warnings: ["unsupported: seed: ignored", "Note."],
    });
    expect(reply.parts).toEqual([
      { type: "reasoning", text: "Hm", metadata: { openai: { itemId: "rs_1", reasoningEncryptedContent: "enc" } } },
      { type: "text", text: "Hello" },
      { type: "call", id: "c1", tool: "add", input: '{"a":1}', metadata: { google: { thoughtSignature: "t" } } },
      { type: "text", text: "again" },
    ]);
  });

  test("keeps a signature, which comes apart from the text, and reasoning that cannot be read", async () => {
    const { reply } = await replyTo([
      { type: "reasoning-start", id: "0" },
      { type: "reasoning-delta", id: "0", delta: "Hm" },
      { type: "reasoning-delta", id: "0", delta: "", providerMetadata: { anthropic: { signature: "sig==" } } },
      { type: "reasoning-end", id: "0" },
      { type: "reasoning-start", id: "1", providerMetadata: { anthropic: { redactedData: "xx" } } },
      { type: "reasoning-end", id: "1" },
    ]);
    expect(reply.parts).toEqual([
      { type: "reasoning", text: "Hm", signature: "sig==", metadata: { anthropic: { signature: "sig==" } } },
      { type: "reasoning", text: "", metadata: { anthropic: { redactedData: "xx" } } },
    ]);
  });

  test("arguments stay as the model wrote them, empty or broken", async () => {
    const { reply } = await replyTo([
      { type: "tool-call", toolCallId: "c1", toolName: "a", input: "" },
      { type: "tool-call", toolCallId: "c2", toolName: "a", input: '{"x": ' },
      { type: "tool-call", toolCallId: "c3", toolName: "a", input: ' { "x" :1 }' },
    ]);
    expect(reply.parts.map((part) => (part.type === "call" ? part.input : part))).toEqual(["", '{"x": ', ' { "x" :1 }']);
  });

  test("files are bytes, and sources and links are kept", async () => {
    const file = { type: "file", mediaType: "image/png", data: new Uint8Array([255, 0]) };
    const inV3 = await replyTo([
      { type: "file", mediaType: "image/png", data: "/wA=" },
      { type: "file", mediaType: "image/png", data: new Uint8Array([255, 0]) },
      { type: "source", sourceType: "url", id: "s", url: "https://example.com", title: "Example" },
      { type: "source", sourceType: "document", id: "s", mediaType: "application/pdf", title: "Paper" },
    ]);
    expect(inV3.reply.parts).toEqual([
      file,
      file,
      { type: "source", url: "https://example.com", title: "Example" },
      { type: "source", title: "Paper" },
    ]);
    const inV4 = await replyTo(
      [
        { type: "file", mediaType: "image/png", data: { type: "data", data: "/wA=" } },
        { type: "file", mediaType: "image/png", data: { type: "url", url: new URL("https://example.com/a.png") } },
      ],
      { version: "v4" },
    );
    expect(inV4.reply.parts).toEqual([file, { type: "source", url: "https://example.com/a.png" }]);
  });

  test("a call that the provider ran itself is not ours to run", async () => {
    const { parts, reply } = await replyTo([
      { type: "tool-input-start", id: "w", toolName: "web_search", providerExecuted: true },
      { type: "tool-input-delta", id: "w", delta: "{}" },
      { type: "tool-call", toolCallId: "w", toolName: "web_search", input: "{}", providerExecuted: true },
      { type: "tool-result", toolCallId: "w", toolName: "web_search", result: {} },
    ]);
    expect(parts).toHaveLength(1);
    expect(reply).toMatchObject({ parts: [], finish: "stop", warnings: [expect.stringContaining("web_search")], outside: true });
  });
});

describe("the end", () => {
  const call = { type: "tool-call", toolCallId: "c", toolName: "a", input: "{}" };
  const finishOf = async (version: Version, word: string, parts: readonly object[] = []) =>
    (await callModel(aiSdkModel(fakeModel([...parts, finishPart(version, word)], { version })))).reply.finish;

  test.each(["v2", "v3", "v4"] as const)("%s stops for one of our reasons", async (version) => {
    expect(await finishOf(version, "stop")).toBe("stop");
    expect(await finishOf(version, "length", [call])).toBe("length");
    expect(await finishOf(version, "tool-calls", [call])).toBe("calls");
    expect(await finishOf(version, "content-filter")).toBe("refused");
    expect(await finishOf(version, "other")).toBe("other");
    // Servers that do not say what they did.
    expect(await finishOf(version, "stop", [call])).toBe("calls");
    expect(await finishOf(version, "tool-calls")).toBe("stop");
    expect(await failureFrom(finishOf(version, "error"))).toMatchObject({ code: "model.failed", retryable: true });
  });

  test("a refusal in the provider's own words is a refusal", async () => {
    const parts = [{ type: "finish", usage: {}, finishReason: { unified: "stop", raw: "refusal" } }];
    expect((await callModel(aiSdkModel(fakeModel(parts)))).reply.finish).toBe("refused");
  });

  test("metadata of the whole reply is kept as it is", async () => {
    const metadata = { anthropic: { usage: { service_tier: "standard" }, container: null } };
    expect((await callModel(aiSdkModel(fakeModel([finishPart("v3", "stop", {}, metadata)])))).reply.metadata).toEqual(metadata);
  });

  test("a stream without one was cut and can be tried again", async () => {
    const failure = await failureFrom(callModel(aiSdkModel(fakeModel([{ type: "text-delta", id: "0", delta: "Hel" }]))));
    expect(failure).toMatchObject({
      code: "model.failed",
      retryable: true,
      message: expect.stringContaining("test/model: the stream was cut"),
    });
  });
});

test("a finish that no word of the server stands behind is a cut stream too", async () => {
  const finished = async (version: Version, finishReason: unknown, usage: object) =>
    await callModel(
      aiSdkModel(
        fakeModel(
          [
            { type: "text-delta", id: "0", delta: "Hel" },
            { type: "finish", finishReason, usage },
          ],
          { version },
        ),
      ),
    );
  for (const version of ["v3", "v4"] as const) {
    expect(await failureFrom(finished(version, { unified: "other", raw: undefined }, {}))).toMatchObject({ retryable: true });
    expect((await finished(version, { unified: "other", raw: "pause" }, {})).reply.finish).toBe("other");
  }
  expect(await failureFrom(finished("v4", { unified: "interrupted", raw: undefined }, {}))).toMatchObject({ retryable: true });
  expect(await failureFrom(finished("v2", "unknown", { inputTokens: undefined, outputTokens: undefined }))).toMatchObject({
    retryable: true,
  });
  expect((await finished("v2", "unknown", { inputTokens: 1, outputTokens: 1 })).reply.finish).toBe("other");
});

describe("an abort", () => {
  test("ends a stream whose provider does not listen, with the reason given and nothing after it", async () => {
    const delta = { type: "text-delta", id: "0", delta: "Hel" };
    for (const parts of [[delta], [delta, delta, finishPart("v3")]]) {
      const abort = new AbortController();
      const reason = new Error("enough");
      let seen = 0;
      const reading = (async () => {
        for await (const _ of aiSdkModel(fakeModel(parts, { open: true })).stream(requestOf(), optionsOf({ signal: abort.signal }))) {
          seen++;
          abort.abort(reason);
        }
      })();
      await expect(reading).rejects.toBe(reason);
      expect(seen).toBe(1);
    }
  });

  test("before the call means no call", async () => {
    const fake = fakeModel([finishPart("v3")]);
    await expect(callModel(aiSdkModel(fake), requestOf(), optionsOf({ signal: AbortSignal.abort("no") }))).rejects.toBe("no");
    expect(fake.calls).toHaveLength(0);
  });

  test("while the provider has not answered yet ends the call", async () => {
    const abort = new AbortController();
    const silent = { ...fakeModel([]), doStream: () => new Promise<never>(() => {}) };
    const call = callModel(aiSdkModel(silent), requestOf(), optionsOf({ signal: abort.signal }));
    setImmediate(() => abort.abort(new Error("enough")));
    await expect(call).rejects.toThrow("enough");
  });

  test("leaving the loop closes the provider's stream", async () => {
    let cancelled = false;
    const stream = new ReadableStream({
      start: (controller) => controller.enqueue({ type: "text-delta", id: "0", delta: "a" }),
      cancel: () => {
        cancelled = true;
      },
    });
    const model = aiSdkModel({ ...fakeModel([]), doStream: async () => ({ stream }) });
    for await (const _ of model.stream(requestOf(), optionsOf())) break;
    expect(cancelled).toBe(true);
  });
});

test("a version that nobody knows is refused by name", () => {
  expect(() => aiSdkModel({ ...fakeModel([]), specificationVersion: "v1" as "v2" })).toThrow(/test\/model.*"v1".*v2, v3, v4/);
});
