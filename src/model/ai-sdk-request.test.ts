import { describe, expect, test } from "vitest";
import { callModel, fakeModel, finishPart, requestOf, type Version } from "../../test/support/model-call.ts";
import type { ModelRequest, RequestMessage } from "../session/message.ts";
import { aiSdkModel } from "./ai-sdk.ts";

type Sent = Readonly<Record<string, unknown>> & { readonly prompt: readonly Readonly<Record<string, unknown>>[] };

/** The call options a provider was given for a request. */
async function sent(fields: Partial<ModelRequest>, provider = "test.chat", version: Version = "v3", modelId = "model"): Promise<Sent> {
  const fake = fakeModel([finishPart(version)], { provider, version, modelId });
  await callModel(aiSdkModel(fake), requestOf(fields));
  return fake.calls[0] as Sent;
}

const asked: RequestMessage = { role: "user", parts: [{ type: "text", text: "Hello" }] };
const tool = { name: "add", description: "Adds.", input: { type: "object", properties: { a: { type: "number" } } } };
const call = (id: string, input = "{}", metadata?: unknown) => ({ type: "call", id, tool: "add", input, metadata }) as const;

describe("the prompt", () => {
  test("instructions come first, then the conversation", async () => {
    const { prompt } = await sent({ instructions: "Be brief.", messages: [{ role: "system", text: "Today is Sunday." }, asked] });
    expect(prompt).toEqual([
      { role: "system", content: "Be brief." },
      { role: "system", content: "Today is Sunday." },
      { role: "user", content: [{ type: "text", text: "Hello" }] },
    ]);
  });

  test("a later system message is marked and said by the user where a provider takes none", async () => {
    const messages = [asked, { role: "system", text: "Hurry." } as const];
    expect((await sent({ messages }, "openai.chat")).prompt.at(-1)).toEqual({ role: "system", content: "Hurry." });
    for (const provider of ["anthropic.messages", "google.generative-ai"])
      expect((await sent({ messages }, provider)).prompt.at(-1)).toMatchObject({
        role: "user",
        content: [{ text: "<system>\nHurry.\n</system>" }],
      });
  });

  test("files are bytes or links; V4 says which", async () => {
    const bytes = new Uint8Array([1, 2, 3]);
    const url = new URL("https://example.com/a.pdf");
    const parts = [
      { type: "text", text: "" },
      { type: "file", mediaType: "image/png", data: bytes },
      { type: "file", mediaType: "text/plain", data: new Blob([bytes]) },
      { type: "file", mediaType: "application/pdf", data: url },
    ] as const;
    const messages = [{ role: "user", parts }] as const;
    const of = (data: readonly unknown[]) => [
      { type: "file", mediaType: "image/png", data: data[0] },
      { type: "file", mediaType: "text/plain", data: data[1] },
      { type: "file", mediaType: "application/pdf", data: data[2] },
    ];
    expect((await sent({ messages }, "test.chat", "v2")).prompt[0]?.["content"]).toEqual(of([bytes, bytes, url]));
    expect((await sent({ messages }, "test.chat", "v4")).prompt[0]?.["content"]).toEqual(
      of([
        { type: "data", data: bytes },
        { type: "data", data: bytes },
        { type: "url", url },
      ]),
    );
  });

  test("what a model said goes back with its own metadata, and messages that are empty then do not", async () => {
    const parts = [
      { type: "text", text: "Hm", metadata: { openai: { itemId: "msg_1" }, anthropic: { other: 1 } } },
      call("c1", '{"a":1}', { openai: { itemId: "fc_1" } }),
      call("c2", ""),
      call("c3", '{"a":'),
      call("c4", "[1]"),
      { type: "source", url: "https://example.com" },
    ] as const;
    const { prompt } = await sent(
      { messages: [asked, { role: "assistant", parts }, { role: "assistant", parts: [] }] },
      "openai.responses",
    );
    expect(prompt).toHaveLength(2);
    expect(prompt[1]?.["content"]).toEqual([
      { type: "text", text: "Hm", providerOptions: { openai: { itemId: "msg_1" } } },
      { type: "tool-call", toolCallId: "c1", toolName: "add", input: { a: 1 }, providerOptions: { openai: { itemId: "fc_1" } } },
      { type: "tool-call", toolCallId: "c2", toolName: "add", input: {} },
      { type: "tool-call", toolCallId: "c3", toolName: "add", input: { malformed: '{"a":' } },
      { type: "tool-call", toolCallId: "c4", toolName: "add", input: { malformed: "[1]" } },
    ]);
  });

  test("reasoning goes back to whoever signed it, and unsigned to servers that sign nothing", async () => {
    const signed = { type: "reasoning", text: "signed", metadata: { anthropic: { signature: "sig" } } } as const;
    const redacted = { type: "reasoning", text: "", metadata: { anthropic: { redactedData: "xx" } } } as const;
    const unsigned = { type: "reasoning", text: "unsigned" } as const;
    const bare = { type: "reasoning", text: "bare", metadata: { anthropic: {} } } as const;
    const messages = [asked, { role: "assistant", parts: [signed, redacted, unsigned, bare, call("c1")] }] as const;
    const texts = async (provider: string) => {
      const content = (await sent({ messages }, provider)).prompt.at(-1)?.["content"] as readonly {
        type: string;
        text?: string;
        providerOptions?: object;
      }[];
      return content.filter(({ type }) => type === "reasoning");
    };
    expect(await texts("anthropic.messages")).toEqual([
      { type: "reasoning", text: "signed", providerOptions: { anthropic: { signature: "sig" } } },
      { type: "reasoning", text: "", providerOptions: { anthropic: { redactedData: "xx" } } },
    ]);
    expect(await texts("openai.responses")).toEqual([]);
    expect(await texts("google.generative-ai")).toEqual([]);
    expect(await texts("deepseek.chat")).toEqual([{ type: "reasoning", text: "unsigned" }]);
  });
});

describe("results of tools", () => {
  const results = [
    { call: "c1", tool: "add", outcome: "ok", value: "three" },
    { call: "c2", tool: "add", outcome: "ok", value: { sum: 3, raw: new Uint8Array(4), none: undefined, big: Number.NaN } },
    { call: "c3", tool: "add", outcome: "error", value: "It broke." },
    { call: "c4", tool: "add", outcome: "denied", value: "Not allowed." },
    { call: "c5", tool: "add", outcome: "expired", value: "Too late." },
    { call: "c6", tool: "add", outcome: "ok", value: undefined },
  ] as const;
  const outputs = async (version: Version, given: readonly object[] = results) => {
    const messages = [asked, { role: "tool", results: given }] as unknown as ModelRequest["messages"];
    const { prompt } = await sent({ messages }, "test.chat", version);
    expect(prompt).toHaveLength(2);
    return (prompt[1]!["content"] as readonly { output: object }[]).map(({ output }) => output);
  };

  test("all of a round are one message, each in the words of the version", async () => {
    const expected = [
      { type: "text", value: "three" },
      { type: "json", value: { sum: 3, raw: "(4 bytes)", big: "NaN" } },
      { type: "error-text", value: "It broke." },
      { type: "execution-denied", reason: "Not allowed." },
      { type: "error-text", value: "Too late." },
      { type: "json", value: null },
    ];
    expect(await outputs("v3")).toEqual(expected);
    expect(await outputs("v2")).toEqual(expected.with(3, { type: "error-text", value: "Not allowed." }));
  });

  test("images and files of a result stay images and files", async () => {
    const parts = [
      { type: "text", text: "See:" },
      { type: "file", mediaType: "image/png", data: new Uint8Array([255, 0]) },
      { type: "file", mediaType: "application/pdf", data: new URL("https://example.com/a.pdf") },
    ];
    const given = [{ call: "c1", tool: "add", outcome: "ok", value: parts }];
    expect(await outputs("v3", given)).toEqual([
      {
        type: "content",
        value: [
          { type: "text", text: "See:" },
          { type: "image-data", data: "/wA=", mediaType: "image/png" },
          { type: "file-url", url: "https://example.com/a.pdf", mediaType: "application/pdf" },
        ],
      },
    ]);
    expect(await outputs("v2", given)).toMatchObject([
      { value: [{}, { type: "media", data: "/wA=", mediaType: "image/png" }, { type: "text" }] },
    ]);
    expect(await outputs("v4", given)).toMatchObject([
      { value: [{}, { type: "file", mediaType: "image/png", data: { type: "data" } }, { type: "file", data: { type: "url" } }] },
    ]);
    const texts = [{ type: "text", text: "a" }];
    expect(await outputs("v3", [{ call: "c1", tool: "add", outcome: "ok", value: texts }])).toEqual([{ type: "json", value: texts }]);
  });
});

describe("settings", () => {
  test("are named as the AI SDK names them, and those that are not set are not sent", async () => {
    const plain = await sent({});
    expect(Object.keys(plain).sort()).toEqual(["abortSignal", "prompt"]);
    const options = await sent({
      tools: [tool],
      settings: { temperature: 0, maxOutputTokens: 5, seed: 7, toolChoice: { tool: "add" } },
      output: { type: "object", properties: { a: {} }, required: ["a"], additionalProperties: false },
    });
    expect(options).toMatchObject({
      temperature: 0,
      maxOutputTokens: 5,
      seed: 7,
      tools: [{ type: "function", name: "add", description: "Adds.", inputSchema: tool.input }],
      toolChoice: { type: "tool", toolName: "add" },
      responseFormat: { type: "json", name: "output" },
    });
    expect(options["providerOptions"]).toBeUndefined();
    expect(await sent({ tools: [tool], settings: { toolChoice: "required" } })).toMatchObject({ toolChoice: { type: "required" } });
  });

  test("a schema that strict mode would refuse is sent without it", async () => {
    const output = {
      type: "object",
      properties: { list: { type: "array", items: { type: "object", properties: { a: {} } } } },
      required: ["list"],
      additionalProperties: false,
    };
    expect(await sent({ output }, "openai.chat")).toMatchObject({ providerOptions: { openai: { strictJsonSchema: false } } });
    expect((await sent({ output }, "anthropic.messages"))["providerOptions"]).toBeUndefined();
  });

  test.each([
    ["openai.chat", "gpt-5.5", "low", { openai: { reasoningEffort: "low" } }],
    ["openai.chat", "gpt-5-mini", "none", { openai: { reasoningEffort: "minimal" } }],
    ["openai.chat", "o3", "none", { openai: { reasoningEffort: "low" } }],
    ["azure.chat", "gpt-5.5", "none", { azure: { reasoningEffort: "none" } }],
    [
      "anthropic.messages",
      "claude-opus-4-6",
      "high",
      { anthropic: { thinking: { type: "adaptive", display: "summarized" }, effort: "high" } },
    ],
    ["anthropic.messages", "claude-sonnet-4-5-20250929", "medium", { anthropic: { thinking: { type: "enabled", budgetTokens: 8192 } } }],
    ["anthropic.messages", "claude-3-7-sonnet-latest", "low", { anthropic: { thinking: { type: "enabled", budgetTokens: 2048 } } }],
    ["anthropic.messages", "claude-opus-4-20250514", "low", { anthropic: { thinking: { type: "enabled", budgetTokens: 2048 } } }],
    ["anthropic.messages", "claude-opus-5", "none", { anthropic: { thinking: { type: "disabled" } } }],
    ["google.generative-ai", "gemini-2.5-flash", "none", { google: { thinkingConfig: { thinkingBudget: 0 } } }],
    ["google.generative-ai", "gemini-2.5-pro", "high", { google: { thinkingConfig: { thinkingBudget: 24_576, includeThoughts: true } } }],
    [
      "google.generative-ai",
      "gemini-3.1-pro-preview",
      "high",
      { google: { thinkingConfig: { thinkingLevel: "high", includeThoughts: true } } },
    ],
    ["google.vertex.chat", "gemini-3.5-flash", "none", { vertex: { thinkingConfig: { thinkingLevel: "minimal" } } }],
    ["my-host.chat", "qwen3", "medium", { "my-host": { reasoningEffort: "medium" } }],
    ["gateway", "anthropic/claude-opus-5", "low", { anthropic: { thinking: { type: "adaptive", display: "summarized" }, effort: "low" } }],
  ] as const)("%s %s reasons with effort %s", async (provider, modelId, reasoning, expected) => {
    expect((await sent({ settings: { reasoning } }, provider, "v3", modelId))["providerOptions"]).toEqual(expected);
  });

  test("V4 has a setting of its own for reasoning", async () => {
    const options = await sent({ settings: { reasoning: "low" } }, "anthropic.messages", "v4");
    expect(options["reasoning"]).toBe("low");
    expect(options["providerOptions"]).toBeUndefined();
    const google = await sent({ settings: { reasoning: "low" } }, "google.generative-ai", "v4");
    expect(google).toMatchObject({ reasoning: "low", providerOptions: { google: { thinkingConfig: { includeThoughts: true } } } });
  });

  test("what the user wrote for the provider wins, and other providers' options pass", async () => {
    const given = { openai: { store: true, user: "u" }, other: { x: 1 } };
    expect((await sent({ settings: { reasoning: "low", providerOptions: given } }, "openai.responses"))["providerOptions"]).toEqual({
      openai: { reasoningEffort: "low", store: true, user: "u" },
      other: { x: 1 },
    });
    expect((await sent({}, "openai.responses"))["providerOptions"]).toEqual({ openai: { store: false } });
    expect((await sent({}, "openai.chat"))["providerOptions"]).toBeUndefined();
  });
});

describe("Anthropic", () => {
  const mark = { anthropic: { cacheControl: { type: "ephemeral" } } };
  const history = [asked, { role: "assistant", parts: [call("c1"), call("c2")] }, { role: "tool", results: [] }, asked] as const;

  test("is told what to cache: the instructions and all there is", async () => {
    const { prompt } = await sent(
      { instructions: "Be brief.", messages: [asked, { role: "assistant", parts: [{ type: "text", text: "Yes?" }] }, asked] },
      "anthropic.messages",
    );
    expect(prompt.map((message) => message["providerOptions"])).toEqual([mark, undefined, undefined, mark]);
    const own = { anthropic: { cacheControl: { type: "ephemeral", ttl: "1h" } } };
    const { prompt: left } = await sent({ instructions: "x", settings: { providerOptions: own } }, "anthropic.messages");
    expect(left.every((message) => message["providerOptions"] === undefined)).toBe(true);
    const { prompt: others } = await sent({ instructions: "x" }, "openai.responses");
    expect(others.every((message) => message["providerOptions"] === undefined)).toBe(true);
  });

  test("gets the tools of the past when there are none now, and may not call them", async () => {
    const options = await sent({ messages: history }, "anthropic.messages");
    expect(options).toMatchObject({ tools: [{ type: "function", name: "add" }], toolChoice: { type: "none" } });
    expect(options["tools"]).toHaveLength(1);
    const second = await sent({ messages: history }, "anthropic.messages", "v2");
    expect(second["tools"]).toHaveLength(1);
    expect(second["toolChoice"]).toBeUndefined();
    expect((await sent({ messages: history }, "openai.chat"))["tools"]).toBeUndefined();
    expect((await sent({ messages: [asked] }, "anthropic.messages"))["tools"]).toBeUndefined();
    expect(await sent({ messages: history, tools: [tool] }, "anthropic.messages")).toMatchObject({ tools: [{ description: "Adds." }] });
  });
});
