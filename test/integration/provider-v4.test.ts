/** The newest provider packages (LanguageModelV4), which need a newer Node than the oldest supported one: `npm run test:nodes` installs and runs them. */
import { existsSync } from "node:fs";
import { LLMock } from "@copilotkit/aimock";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { aiSdkModel } from "../../src/model/ai-sdk.ts";
import type { ReplyPart } from "../../src/session/message.ts";
import type { LanguageModel } from "../../src/session/model.ts";
import { callModel, requestOf } from "../support/model-call.ts";

const folder = new URL("../nodes/node_modules/", import.meta.url);
const newEnough = Number(process.versions.node.split(".")[0]) >= 22;
const installed = existsSync(new URL("ai-sdk-openai-4/", folder));
const missing = !newEnough
  ? `Node ${process.versions.node} is older than 22`
  : !installed
    ? "not installed: npm run test:nodes"
    : undefined;
if (missing !== undefined) console.log(`skipped: providers of version 4 (${missing})`);

type Provider = (settings: { readonly apiKey: string; readonly baseURL: string }) => (model: string) => LanguageModel;
const providers = [
  { name: "openai", make: "createOpenAI", path: "/v1", model: "gpt-5.5" },
  { name: "anthropic", make: "createAnthropic", path: "/v1", model: "claude-opus-5" },
  { name: "google", make: "createGoogleGenerativeAI", path: "/v1beta", model: "gemini-3.5-flash" },
] as const;
const tools = [{ name: "add", description: "Adds.", input: { type: "object", properties: { a: { type: "number" } } } }];

function textOf(parts: readonly ReplyPart[]): string {
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

describe.skipIf(missing !== undefined)("providers of version 4", () => {
  const mock = new LLMock({ port: 0 });
  beforeAll(async () => {
    mock.onMessage("hello", { content: "Good day to you." }, { chunkSize: 5 });
    const calls = [1, 2].map((a) => ({ name: "add", arguments: JSON.stringify({ a }), id: `call_${a}` }));
    mock.on({ userMessage: "add", hasToolResult: false }, { toolCalls: calls });
    mock.on({ userMessage: "add", hasToolResult: true }, { content: "3 and 4." });
    await mock.start();
  });
  afterAll(async () => await mock.stop());

  test.each(providers)("$name: text, parallel calls and their results", async ({ name, make, path, model }) => {
    const found = (await import(new URL(`ai-sdk-${name}-4/dist/index.js`, folder).href)) as Readonly<Record<string, Provider>>;
    const made = (found[make] as Provider)({ apiKey: "key", baseURL: `${mock.url}${path}` })(model);
    expect(made.specificationVersion).toBe("v4");
    const said = (text: string) => ({ role: "user" as const, parts: [{ type: "text" as const, text }] });
    const hello = await callModel(aiSdkModel(made), requestOf({ messages: [said("hello")] }));
    expect([hello.reply.finish, textOf(hello.reply.parts)]).toEqual(["stop", "Good day to you."]);
    expect(hello.parts.filter((part) => part.type === "text-delta").length).toBeGreaterThan(1);
    const asked = await callModel(aiSdkModel(made), requestOf({ messages: [said("add")], tools }));
    const calls = asked.reply.parts.flatMap((part) => (part.type === "call" ? [part] : []));
    expect(calls.map((call) => JSON.parse(call.input))).toEqual([{ a: 1 }, { a: 2 }]);
    const results = calls.map((call) => ({ call: call.id, tool: "add", outcome: "ok" as const, value: { sum: 3 } }));
    const messages = [said("add"), { role: "assistant" as const, parts: asked.reply.parts }, { role: "tool" as const, results }];
    expect(textOf((await callModel(aiSdkModel(made), requestOf({ messages, tools }))).reply.parts)).toBe("3 and 4.");
  });
});
