/** The providers' own packages over real HTTP, against a server that speaks their protocols. */
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { LLMock } from "@copilotkit/aimock";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { aiSdkModel } from "../../src/model/ai-sdk.ts";
import { compatible, providerModel } from "../../src/model/providers.ts";
import type { ModelRequest, RequestMessage, RequestResult } from "../../src/session/message.ts";
import type { Model } from "../../src/session/model.ts";
import { callModel, failureFrom, optionsOf, requestOf } from "../support/model-call.ts";

const mock = new LLMock({ port: 0 });
const png = new Uint8Array([137, 80, 78, 71]);
const tools = [{ name: "add", description: "Adds.", input: { type: "object", properties: { a: { type: "number" } }, required: ["a"] } }];
const long = "One two three four five six seven eight nine ten.";

beforeAll(async () => {
  mock.onMessage("hello", { content: long }, { chunkSize: 9 });
  mock.on(
    { userMessage: "add", hasToolResult: false },
    {
      reasoning: "Two sums.",
      reasoningSignature: "c2lnbmF0dXJl",
      toolCalls: [
        { name: "add", arguments: '{"a":1}', id: "call_1" },
        { name: "add", arguments: '{"a":2}', id: "call_2" },
      ],
    },
  );
  mock.on({ userMessage: "add", hasToolResult: true }, { content: "3 and 4." });
  mock.onMessage("limited", { error: { message: "Slow down.", type: "rate_limit_error" }, status: 429, retryAfter: 7 });
  mock.onMessage("down", { error: { message: "Out of order.", type: "server_error" }, status: 503 });
  mock.onMessage("wrong", { error: { message: "No such field.", type: "invalid_request_error" }, status: 400 });
  mock.onMessage("garbage", { content: "x" }, { chaos: { malformedRate: 1 } });
  mock.onMessage("cut", { content: long }, { chunkSize: 5, truncateAfterChunks: 6, latency: 10 });
  mock.onMessage("dropped", { content: "x" }, { chaos: { disconnectRate: 1 } });
  mock.onMessage("slow", { content: long.repeat(20) }, { chunkSize: 5, latency: 20 });
  await mock.start();
});
afterAll(async () => await mock.stop());

type Body = Readonly<Record<string, unknown>>;
const bodies: Body[] = [];
/** The real thing, noting what was sent. */
const fetch: typeof globalThis.fetch = async (url, init) => {
  bodies.push(JSON.parse(String(init?.body)) as Body);
  return await globalThis.fetch(url, init);
};
beforeEach(() => bodies.splice(0));

const settings = (path: string) => ({ apiKey: "key", baseURL: `${mock.url}${path}`, fetch });
const providers: readonly { readonly name: string; readonly make: () => Model }[] = [
  { name: "OpenAI Responses", make: () => aiSdkModel(createOpenAI(settings("/v1"))("gpt-5.5")) },
  { name: "OpenAI Chat", make: () => aiSdkModel(createOpenAI(settings("/v1")).chat("gpt-4.1")) },
  { name: "Anthropic", make: () => aiSdkModel(createAnthropic(settings("/v1"))("claude-opus-5")) },
  { name: "Gemini", make: () => aiSdkModel(createGoogleGenerativeAI(settings("/v1beta"))("gemini-3.5-flash")) },
  { name: "OpenAI-compatible", make: () => compatible({ baseURL: `${mock.url}/v1`, apiKey: "key", model: "qwen3", name: "acme" }) },
];

const said = (text: string): RequestMessage => ({ role: "user", parts: [{ type: "text", text }] });
const ask = (text: string, fields: Partial<ModelRequest> = {}) =>
  requestOf({ instructions: "Be brief.", messages: [said(text)], ...fields });

/** A round of two calls and the answers to them; gives what was sent the second time. */
async function rounds(model: Model): Promise<{ readonly request: ModelRequest; readonly text: string }> {
  const first = await callModel(model, ask("add", { tools }));
  const calls = first.reply.parts.filter((part) => part.type === "call");
  expect(first.reply.finish).toBe("calls");
  expect(calls.map(({ tool, input }) => [tool, input])).toEqual([
    ["add", '{"a":1}'],
    ["add", '{"a":2}'],
  ]);
  const results: readonly RequestResult[] = [
    { call: calls[0]!.id, tool: "add", outcome: "ok", value: { sum: 3 } },
    { call: calls[1]!.id, tool: "add", outcome: "error", value: "It broke." },
  ];
  const request = ask("add", {
    tools,
    messages: [said("add"), { role: "assistant", parts: first.reply.parts }, { role: "tool", results }],
  });
  const { reply } = await callModel(model, request);
  return { request, text: reply.parts.map((part) => (part.type === "text" ? part.text : "")).join("") };
}

describe.each(providers)("$name", ({ make }) => {
  test("streams a text and gives the whole", async () => {
    const { parts, reply } = await callModel(make(), ask("hello"));
    const deltas = parts.flatMap((part) => (part.type === "text-delta" ? [part.text] : []));
    expect(deltas.length).toBeGreaterThan(3);
    expect(deltas.join("")).toBe(long);
    expect(reply.parts.filter((part) => part.type === "text").map((part) => part.text)).toEqual([long]);
    expect(reply.finish).toBe("stop");
  });

  test("calls two tools at once and reads what came of them", async () => {
    expect((await rounds(make())).text).toBe("3 and 4.");
  });

  test("429 says how long to wait", async () => {
    const failure = await failureFrom(callModel(make(), ask("limited")));
    expect(failure).toMatchObject({
      code: "model.failed",
      retryable: true,
      details: { status: 429, retryAfterMs: 7000 },
      message: expect.stringContaining("Slow down."),
    });
  });

  test("503 can be tried again, 400 cannot", async () => {
    expect(await failureFrom(callModel(make(), ask("down")))).toMatchObject({ retryable: true, details: { status: 503 } });
    expect(await failureFrom(callModel(make(), ask("wrong")))).toMatchObject({
      retryable: false,
      details: { status: 400 },
      message: expect.stringContaining("No such field."),
    });
  });

  test("an answer that is no JSON can be tried again", async () => {
    expect(await failureFrom(callModel(make(), ask("garbage")))).toMatchObject({ code: "model.failed", retryable: true });
  });

  test("a connection that is closed at once, or in the middle, can be tried again", async () => {
    expect(await failureFrom(callModel(make(), ask("dropped")))).toMatchObject({ code: "model.failed", retryable: true });
    expect(await failureFrom(callModel(make(), ask("cut")))).toMatchObject({ code: "model.failed", retryable: true });
  });

  test("an abort in the middle ends with its reason", async () => {
    const abort = new AbortController();
    const reason = new Error("enough");
    let seen = 0;
    const reading = (async () => {
      for await (const part of make().stream(ask("slow"), optionsOf({ signal: abort.signal }))) {
        if (part.type === "text-delta" && ++seen === 2) abort.abort(reason);
        expect(part.type).not.toBe("reply");
      }
    })();
    await expect(reading).rejects.toBe(reason);
    expect(seen).toBe(2);
  });
});

describe("what is sent", () => {
  const make = (name: string) => providers.find((provider) => provider.name === name)!.make();
  const image: RequestMessage = {
    role: "user",
    parts: [
      { type: "text", text: "hello" },
      { type: "file", mediaType: "image/png", data: png },
      { type: "file", mediaType: "image/png", data: new URL("https://example.com/a.png") },
    ],
  };

  test("OpenAI Responses: reasoning goes back encrypted, and nothing is kept on the other side", async () => {
    await rounds(make("OpenAI Responses"));
    expect(bodies[0]).toMatchObject({ store: false, include: ["reasoning.encrypted_content"], stream: true });
    const input = bodies[1]!["input"] as readonly Body[];
    expect(input.map((item) => item["type"] ?? item["role"])).toEqual([
      "developer",
      "user",
      "reasoning",
      "function_call",
      "function_call",
      "function_call_output",
      "function_call_output",
    ]);
    expect(input[2]).toMatchObject({ encrypted_content: expect.stringMatching(/./) });
    expect(input.slice(3)).toMatchObject([
      { call_id: "call_1", name: "add", arguments: '{"a":1}' },
      { call_id: "call_2", arguments: '{"a":2}' },
      { call_id: "call_1", output: '{"sum":3}' },
      { call_id: "call_2", output: "It broke." },
    ]);
  });

  test("OpenAI Responses: images as bytes and as links", async () => {
    await callModel(make("OpenAI Responses"), ask("", { messages: [image] }));
    const input = bodies[0]!["input"] as readonly Body[];
    expect(input[1]!["content"]).toMatchObject([
      { text: "hello" },
      { type: "input_image", image_url: "data:image/png;base64,iVBORw==" },
      { type: "input_image", image_url: "https://example.com/a.png" },
    ]);
  });

  test("OpenAI Chat: one message for each result", async () => {
    await rounds(make("OpenAI Chat"));
    expect(bodies[1]!["messages"]).toMatchObject([
      { role: "system", content: "Be brief." },
      { role: "user", content: "add" },
      { role: "assistant", tool_calls: [{ id: "call_1", function: { name: "add", arguments: '{"a":1}' } }, { id: "call_2" }] },
      { role: "tool", tool_call_id: "call_1", content: '{"sum":3}' },
      { role: "tool", tool_call_id: "call_2", content: "It broke." },
    ]);
  });

  test("Anthropic: signed thinking as it came, all results in one message, and marks for the cache", async () => {
    await rounds(make("Anthropic"));
    const { system, messages } = bodies[1] as { readonly system: unknown; readonly messages: readonly Body[] };
    expect(system).toEqual([{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }]);
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
    expect(messages[1]!["content"]).toMatchObject([
      { type: "thinking", thinking: "Two sums.", signature: "c2lnbmF0dXJl" },
      { type: "tool_use", id: "call_1", name: "add", input: { a: 1 } },
      { type: "tool_use", id: "call_2", input: { a: 2 } },
    ]);
    expect(messages[2]!["content"]).toEqual([
      { type: "tool_result", tool_use_id: "call_1", content: '{"sum":3}' },
      { type: "tool_result", tool_use_id: "call_2", content: "It broke.", is_error: true, cache_control: { type: "ephemeral" } },
    ]);
  });

  test("Anthropic: the tools of the past are there and may not be called, and images are sent", async () => {
    const { request } = await rounds(make("Anthropic"));
    bodies.splice(0);
    await callModel(make("Anthropic"), { ...request, tools: [] });
    expect(bodies[0]).toMatchObject({ tools: [{ name: "add" }], tool_choice: { type: "none" } });
    await callModel(make("Anthropic"), ask("", { messages: [image] }));
    const [message] = bodies[1]!["messages"] as readonly Body[];
    expect(message!["content"]).toMatchObject([
      { text: "hello" },
      { type: "image", source: { type: "base64", data: "iVBORw==" } },
      { source: { type: "url", url: "https://example.com/a.png" } },
    ]);
  });

  test("Gemini: one message of results", async () => {
    await rounds(make("Gemini"));
    const contents = bodies[1]!["contents"] as readonly { readonly role: string; readonly parts: readonly Body[] }[];
    expect(contents.map(({ role }) => role)).toEqual(["user", "model", "user"]);
    expect(contents[1]!.parts).toMatchObject([
      { functionCall: { name: "add", args: { a: 1 } } },
      { functionCall: { name: "add", args: { a: 2 } } },
    ]);
    expect(contents[2]!.parts).toMatchObject([{ functionResponse: { name: "add" } }, { functionResponse: { name: "add" } }]);
    expect(bodies[1]!["systemInstruction"]).toEqual({ parts: [{ text: "Be brief." }] });
  });

  test("another provider's reasoning and ids stay behind", async () => {
    const { request } = await rounds(make("Anthropic"));
    bodies.splice(0);
    await callModel(make("OpenAI Responses"), request);
    expect((bodies[0]!["input"] as readonly Body[]).map((item) => item["type"] ?? item["role"])).not.toContain("reasoning");
    await callModel(make("Gemini"), request);
    expect(JSON.stringify(bodies)).not.toContain("Two sums.");
  });
});

test("a compatible server is asked for usage and gets reasoning back, by name from the environment too", async () => {
  mock.clearRequests();
  const model = await providerModel("compatible/qwen3", { env: { OPENAI_COMPATIBLE_BASE_URL: `${mock.url}/v1` } });
  const { reply } = await callModel(model, ask("hello"));
  expect(model.id).toBe("compatible/qwen3");
  expect(reply.usage.output).toBeGreaterThan(0);
  await rounds(model);
  const sent = mock.getLastRequest()?.body as unknown as { readonly messages: readonly Body[]; readonly stream_options: unknown };
  expect(sent.stream_options).toEqual({ include_usage: true });
  expect(sent.messages.map(({ role }) => role)).toEqual(["system", "user", "assistant", "tool", "tool"]);
  expect(sent.messages[2]).toMatchObject({ reasoning_content: "Two sums." });
});

test("a server that is not there can be tried again", async () => {
  const nowhere = compatible({ baseURL: "http://127.0.0.1:1/v1", model: "x" });
  expect(await failureFrom(callModel(nowhere, ask("hello")))).toMatchObject({ code: "model.failed", retryable: true });
});
