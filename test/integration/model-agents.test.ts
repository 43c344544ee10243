/** Agents over models that play back, and over a provider's package with faults on the way. */
import { createAnthropic } from "@ai-sdk/anthropic";
import { LLMock } from "@copilotkit/aimock";
import { expect, test } from "vitest";
import { z } from "zod";
import { Agent } from "../../src/agent/agent.ts";
import { aiSdkModel } from "../../src/model/ai-sdk.ts";
import { recorded } from "../../src/model/recorded.ts";
import { type Script, scripted } from "../../src/model/scripted.ts";
import type { Session } from "../../src/session/session.ts";
import { testRath } from "../../src/testing/test-rath.ts";
import { tool } from "../../src/tool/tool.ts";

const add = tool({ name: "add", description: "Adds one.", input: z.object({ a: z.number() }), repeat: "safe", run: ({ a }) => a + 1 });
const said = (session: Session) => session.messages.map(({ role, text, parts }) => [role, text, parts.map(({ type }) => type)]);

test("what agents did on two branches is done again from the record alone", async () => {
  const team = async (rath: ReturnType<typeof testRath>) => {
    const planner = new Agent({ name: "planner", model: "m/planner", instructions: "Plan." });
    const coder = new Agent({ name: "coder", model: "m/coder", tools: [add], instructions: "Do." });
    const planned = await planner.forward(rath.session("Begin."));
    const tries = await Promise.all(["small", "thorough"].map(async (style) => await coder.forward(planned.fork(style).say(style))));
    return await planned.merge(tries);
  };
  const script: Script = (request) => {
    const last = request.messages.findLast((message) => message.role === "user");
    const style = last?.role === "user" && last.parts[0]?.type === "text" ? last.parts[0].text : "";
    return { reasoning: "Hm.", text: `I go ${style}.`, calls: [{ tool: "add", input: { a: style.length } }] };
  };
  const models = { "m/planner": scripted("A plan."), "m/coder": scripted(script, (request) => `Done after ${request.messages.length}.`) };
  const past = await team(testRath({ models }));
  expect(past.messages.map(({ text }) => text)).toContain("I go thorough.");

  const again = recorded(past);
  const replayed = await team(testRath({ models: { "m/planner": again, "m/coder": again } }));
  expect(said(replayed)).toEqual(said(past));
  expect(replayed.usage.output).toBe(past.usage.output);
  expect(replayed.usage.usd).toBe(0);

  const other = new Agent({ name: "stranger", model: again, instructions: "" });
  const lost = await other.forward(testRath().session("Hi"));
  expect(lost.stop).toBe("error");
  expect([...lost.events()].find((event) => event.kind === "model.returned")?.data.message).toMatch(
    /no reply on record for call 1 of agent "stranger"/,
  );
});

test("an agent goes on after a provider's faults, and its signed thoughts go back", async () => {
  const mock = new LLMock({ port: 0 });
  const bodies: { readonly messages: readonly { readonly role: string; readonly content: unknown }[] }[] = [];
  mock.on(
    { userMessage: "add", hasToolResult: false },
    {
      reasoning: "One more.",
      reasoningSignature: "c2ln",
      toolCalls: [
        { name: "add", arguments: '{"a":1}' },
        { name: "add", arguments: '{"a":2}' },
      ],
    },
  );
  mock.on({ userMessage: "add", hasToolResult: true }, { content: "2 and 3." });
  mock.nextRequestError(529, { message: "Overloaded", type: "overloaded_error" });
  await mock.start();
  try {
    const fetch: typeof globalThis.fetch = async (url, init) => {
      bodies.push(JSON.parse(String(init?.body)));
      return await globalThis.fetch(url, init);
    };
    const model = aiSdkModel(createAnthropic({ apiKey: "k", baseURL: `${mock.url}/v1`, fetch })("claude-opus-5"));
    const session = await new Agent({ name: "adder", model, tools: [add], instructions: "Add." }).forward(testRath().session("add"));
    expect(session.text).toBe("2 and 3.");
    expect(bodies).toHaveLength(3);
    expect(bodies[2]?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
    expect(bodies[2]?.messages[1]?.content).toMatchObject([
      { type: "thinking", signature: "c2ln" },
      { type: "tool_use" },
      { type: "tool_use" },
    ]);
    expect(bodies[2]?.messages[2]?.content).toMatchObject([
      { type: "tool_result", content: "2" },
      { type: "tool_result", content: "3" },
    ]);
  } finally {
    await mock.stop();
  }
});
