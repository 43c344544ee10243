/** What a mock server does not say: figures of caches and reasoning, signatures, and streams that end in odd ways. Bytes by hand, over HTTP. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { aiSdkModel } from "../../src/model/ai-sdk.ts";
import { compatible } from "../../src/model/providers.ts";
import type { RequestMessage } from "../../src/session/message.ts";
import type { Model } from "../../src/session/model.ts";
import { callModel, failureFrom, requestOf } from "../support/model-call.ts";

let server: Server;
let url = "";
/** What the server says next, and what it was asked last. */
let answer = "";
let asked: Readonly<Record<string, unknown>> = {};

beforeAll(async () => {
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      asked = JSON.parse(Buffer.concat(chunks).toString()) as typeof asked;
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(answer);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const sse = (...events: readonly (object | string)[]) =>
  events.map((event) => `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`).join("");
const named = (...events: readonly { readonly type: string }[]) =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");

const responses = [
  { type: "response.created", response: { id: "resp_1", created_at: 1, model: "gpt-5.5-2026-04-23" } },
  { type: "response.output_item.added", output_index: 0, item: { type: "message", id: "msg_1" } },
  { type: "response.output_text.delta", item_id: "msg_1", output_index: 0, content_index: 0, delta: "Hi" },
  { type: "response.output_item.done", output_index: 0, item: { type: "message", id: "msg_1" } },
  {
    type: "response.completed",
    response: {
      usage: {
        input_tokens: 100,
        input_tokens_details: { cached_tokens: 60 },
        output_tokens: 50,
        output_tokens_details: { reasoning_tokens: 40 },
      },
    },
  },
];
const chat = [
  { id: "c", created: 1, model: "qwen3", choices: [{ index: 0, delta: { role: "assistant", content: "Hi" }, finish_reason: null }] },
  { id: "c", created: 1, model: "qwen3", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
  {
    id: "c",
    created: 1,
    model: "qwen3",
    choices: [],
    usage: {
      prompt_tokens: 100,
      completion_tokens: 50,
      prompt_tokens_details: { cached_tokens: 60 },
      completion_tokens_details: { reasoning_tokens: 40 },
    },
  },
];
const anthropic = [
  {
    type: "message_start",
    message: {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "claude-opus-5",
      content: [],
      usage: { input_tokens: 10, output_tokens: 1, cache_read_input_tokens: 60, cache_creation_input_tokens: 30 },
    },
  },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hi" } },
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: 50 } },
  { type: "message_stop" },
];
const gemini = [
  { candidates: [{ content: { role: "model", parts: [{ text: "Hm", thought: true }] }, index: 0 }] },
  {
    candidates: [
      { content: { role: "model", parts: [{ functionCall: { name: "add", args: { a: 1 } }, thoughtSignature: "c2ln" }] }, index: 0 },
    ],
  },
  {
    candidates: [{ content: { role: "model", parts: [{ text: "Hi" }] }, finishReason: "STOP", index: 0 }],
    usageMetadata: {
      promptTokenCount: 100,
      cachedContentTokenCount: 60,
      candidatesTokenCount: 10,
      thoughtsTokenCount: 40,
      totalTokenCount: 150,
    },
  },
];

const providers: readonly {
  readonly name: string;
  readonly events: readonly object[];
  readonly text: (events: readonly object[]) => string;
  readonly make: () => Model;
}[] = [
  {
    name: "OpenAI Responses",
    events: responses,
    text: (events) => sse(...events),
    make: () => aiSdkModel(createOpenAI({ apiKey: "k", baseURL: url })("gpt-5.5")),
  },
  {
    name: "OpenAI Chat",
    events: chat,
    text: (events) => sse(...events),
    make: () => aiSdkModel(createOpenAI({ apiKey: "k", baseURL: url }).chat("gpt-5.5")),
  },
  {
    name: "Anthropic",
    events: anthropic,
    text: (events) => named(...(events as typeof anthropic)),
    make: () => aiSdkModel(createAnthropic({ apiKey: "k", baseURL: url })("claude-opus-5")),
  },
  {
    name: "Gemini",
    events: gemini,
    text: (events) => sse(...events),
    make: () => aiSdkModel(createGoogleGenerativeAI({ apiKey: "k", baseURL: url })("gemini-3.5-flash")),
  },
  {
    name: "OpenAI-compatible",
    events: chat,
    text: (events) => sse(...events, "[DONE]"),
    make: () => compatible({ baseURL: url, model: "qwen3" }),
  },
];

describe.each(providers)("$name", ({ name, events, text, make }) => {
  test("counts input with the cache and output with reasoning", async () => {
    answer = text(events);
    const { reply } = await callModel(make());
    expect(reply.usage).toEqual(
      name === "Anthropic"
        ? { input: 100, output: 50, cached: 60, cacheWrite: 30, reasoning: 0 }
        : { input: 100, output: 50, cached: 60, cacheWrite: 0, reasoning: 40 },
    );
  });

  test("a stream that ends early, and politely, was cut", async () => {
    for (let kept = 0; kept < events.length; kept++) {
      // The last events may only count tokens: what was said is whole once the reason was given.
      if (JSON.stringify(events.slice(0, kept)).match(/"finish_reason":"stop"|end_turn|"STOP"/)) continue;
      answer = text(events.slice(0, kept));
      expect(await failureFrom(callModel(make())), `after ${kept} events`).toMatchObject({
        code: "model.failed",
        retryable: true,
        message: expect.stringContaining("the stream was cut"),
      });
    }
  });

  test("an event that is no JSON, or not what it should be, is a failure that can be tried again", async () => {
    for (const odd of [
      '{"broken": ',
      '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":5},"choices":7,"candidates":"x"}',
    ]) {
      answer = text(events.slice(0, 1)) + sse(odd) + text(events.slice(1));
      const outcome = await callModel(make()).then(
        ({ reply }) => reply.finish,
        (error: { code: string; retryable: boolean }) => ({ code: error.code, retryable: error.retryable }),
      );
      // OpenAI Responses lets through events it does not know.
      if (outcome !== "stop") expect(outcome).toEqual({ code: "model.failed", retryable: true });
      else expect(name).toBe("OpenAI Responses");
    }
  });
});

test("the model that answered is named when it is another one", async () => {
  answer = sse(...responses);
  expect((await callModel(aiSdkModel(createOpenAI({ apiKey: "k", baseURL: url })("gpt-5.5")))).reply).toMatchObject({
    model: "openai/gpt-5.5-2026-04-23",
    id: "resp_1",
  });
});

test("Anthropic: an error in the middle of a stream", async () => {
  const model = aiSdkModel(createAnthropic({ apiKey: "k", baseURL: url })("claude-opus-5"));
  answer = named(...anthropic.slice(0, 3), { type: "error", error: { type: "overloaded_error", message: "Overloaded" } } as {
    type: string;
  });
  expect(await failureFrom(callModel(model))).toMatchObject({ retryable: true, message: expect.stringContaining("Overloaded") });
  answer = named(
    ...anthropic.slice(0, 4),
    { type: "message_delta", delta: { stop_reason: "refusal" }, usage: { output_tokens: 1 } } as { type: string },
    { type: "message_stop" },
  );
  expect((await callModel(model)).reply.finish).toBe("refused");
});

test("Gemini: the signature of a call goes back with it", async () => {
  const model = aiSdkModel(createGoogleGenerativeAI({ apiKey: "k", baseURL: url })("gemini-3.5-flash"));
  answer = sse(...gemini);
  const { reply } = await callModel(model);
  expect(reply.finish).toBe("calls");
  const call = reply.parts.find((part) => part.type === "call")!;
  const messages: readonly RequestMessage[] = [
    { role: "user", parts: [{ type: "text", text: "Add." }] },
    { role: "assistant", parts: reply.parts },
    { role: "tool", results: [{ call: call.id, tool: "add", outcome: "ok", value: 2 }] },
  ];
  await callModel(
    model,
    requestOf({ messages, tools: [{ name: "add", description: "", input: { type: "object" } }], settings: { reasoning: "low" } }),
  );
  const { contents, generationConfig } = asked as {
    readonly contents: readonly { readonly parts: readonly object[] }[];
    readonly generationConfig: unknown;
  };
  expect(contents[1]!.parts).toContainEqual(
    expect.objectContaining({ functionCall: expect.objectContaining({ name: "add", args: { a: 1 } }), thoughtSignature: "c2ln" }),
  );
  expect(generationConfig).toMatchObject({ thinkingConfig: { thinkingLevel: "low", includeThoughts: true } });
});

test("settings reach the wire", async () => {
  answer = sse(...chat, "[DONE]");
  await callModel(
    compatible({ baseURL: url, model: "qwen3", headers: { "x-team": "a" } }),
    requestOf({ settings: { temperature: 0, maxOutputTokens: 5, seed: 7, reasoning: "low" }, output: { type: "object", properties: {} } }),
  );
  expect(asked).toMatchObject({
    temperature: 0,
    max_tokens: 5,
    seed: 7,
    reasoning_effort: "low",
    response_format: { type: "json_schema" },
  });
  answer = named(...anthropic);
  await callModel(
    aiSdkModel(createAnthropic({ apiKey: "k", baseURL: url })("claude-opus-4-8")),
    requestOf({ settings: { reasoning: "high" } }),
  );
  expect(asked).toMatchObject({ thinking: { type: "adaptive" }, output_config: { effort: "high" } });
  answer = sse(...responses);
  await callModel(aiSdkModel(createOpenAI({ apiKey: "k", baseURL: url })("gpt-5.5")), requestOf({ settings: { reasoning: "none" } }));
  expect(asked).toMatchObject({ reasoning: { effort: "none" } });
});
