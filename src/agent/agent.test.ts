import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type Script, scripted } from "../model/scripted.ts";
import type { RathOptions } from "../rath-options.ts";
import { replay } from "../runtime/replay.ts";
import { RathError } from "../session/errors.ts";
import type { ModelRequest } from "../session/message.ts";
import type { Session, Tool } from "../session/session.ts";
import { testRath } from "../testing/test-rath.ts";
import { tool } from "../tool/tool.ts";
import { Agent } from "./agent.ts";
import type { AgentOptions } from "./options.ts";

const weather = tool({
  name: "weather",
  description: "Weather of a city.",
  input: z.object({ city: z.string(), unit: z.enum(["C", "F"]).default("C") }),
  repeat: "safe",
  run: ({ city, unit }) => ({ city, unit, degrees: 20 }),
});

const calls = (...list: readonly { readonly tool: string; readonly input: unknown }[]): Script => ({ calls: list });
const kinds = (session: Session): string[] => [...session.events()].map((event) => event.kind);

async function run(
  options: Omit<AgentOptions, "model"> & { readonly replies: readonly Script[] },
  rath: RathOptions = {},
): Promise<Session> {
  const { replies, ...rest } = options;
  const agent = new Agent({ model: scripted(...replies), ...rest });
  const session = await agent.forward(testRath(rath).session("Is it warm in Lisbon?"));
  const report = await replay(session, agent);
  expect(String(report)).toMatch(/^identical/);
  return session;
}

describe("an agent", () => {
  test("asks, calls and answers; everything is in the session", async () => {
    const session = await run({
      replies: [calls({ tool: "weather", input: { city: "Lisbon" } }), "Yes, 20 degrees."],
      tools: [weather],
      instructions: "Be brief.",
    });
    expect([session.text, session.output, session.stop, session.status]).toEqual([
      "Yes, 20 degrees.",
      "Yes, 20 degrees.",
      "finished",
      "idle",
    ]);
    expect(session.messages.map(({ role, text }) => `${role}: ${text}`)).toEqual([
      "user: Is it warm in Lisbon?",
      "assistant: ",
      'tool: {"city":"Lisbon","degrees":20,"unit":"C"}',
      "assistant: Yes, 20 degrees.",
    ]);
    expect(session.calls).toMatchObject([{ tool: "weather", input: { city: "Lisbon" }, outcome: { type: "ok" }, by: "agent" }]);
    expect(kinds(session).slice(2)).toEqual([
      "workflow.entered",
      "model.called",
      "model.returned",
      "tool.called",
      "tool.returned",
      "model.called",
      "model.returned",
      "agent.stopped",
      "workflow.left",
    ]);
  });

  test("stores instructions and tool schemas once and no prompt", async () => {
    const instructions = `Remember: ${"a long rule. ".repeat(50)}`;
    const session = await run({
      replies: [calls({ tool: "weather", input: { city: "A" } }), calls({ tool: "weather", input: { city: "B" } }), "done"],
      tools: [weather],
      instructions,
    });
    const asked = [...session.events()].filter((event) => event.kind === "model.called");
    expect(asked).toHaveLength(3);
    expect(new Set(asked.map((event) => event.kind === "model.called" && event.data.configuration)).size).toBe(1);
    const read = await session.at(asked[1]?.step ?? 0).request();
    expect(read).toMatchObject({ instructions, tools: [{ name: "weather", input: { type: "object" } }] });
    expect(read.messages.map((message) => message.role)).toEqual(["user", "assistant", "tool"]);
  });

  test("is asked the n-th reply at its n-th call on a branch, also on parallel forks", async () => {
    const agent = new Agent({ model: scripted("one", "two", "three") });
    const rath = testRath();
    const first = await agent.forward(rath.session("go"));
    const both = await Promise.all(["a", "b"].map((label) => agent.forward(first.fork(label).say("again"))));
    expect([first.text, ...both.map((session) => session.text)]).toEqual(["one", "two", "two"]);
    expect((await agent.forward((both[0] as Session).say("and"))).text).toBe("three");
  });

  test("a model sees what went wrong with a call and may try again", async () => {
    const seen: ModelRequest[] = [];
    const session = await run({
      replies: [
        calls(
          { tool: "weather", input: { town: "Lisbon" } },
          { tool: "forecast", input: {} },
          { tool: "weather", input: "{broken" },
          { tool: "weather", input: "[1]" },
        ),
        (request) => {
          seen.push(request);
          return "sorry";
        },
      ],
      tools: [weather],
    });
    const results = seen[0]?.messages.at(-1);
    expect(results).toMatchObject({
      role: "tool",
      results: [
        { outcome: "error", value: expect.stringMatching(/city: .*expected string/) },
        { outcome: "error", value: expect.stringMatching(/no tool "forecast": use one of weather/) },
        { outcome: "error", value: expect.stringMatching(/not JSON: \{broken/) },
        { outcome: "error", value: expect.stringMatching(/expected a JSON object, got an array/) },
      ],
    });
    expect(session.calls.map((call) => call.outcome.type)).toEqual(["error", "error", "error", "error"]);
  });

  test("empty arguments are {}, and what was repaired is kept as it was written", async () => {
    const inputs: unknown[] = [];
    const any = tool({
      name: "any",
      description: "Takes anything.",
      input: z.looseObject({}),
      repeat: "safe",
      run: (input) => void inputs.push(input),
    });
    const session = await run({
      replies: [
        calls({ tool: "any", input: "" }, { tool: "any", input: '```json\n{"a": 1,}\n```' }, { tool: "any", input: '"{\\"b\\":2}"' }),
        "ok",
      ],
      tools: [any],
    });
    expect(inputs).toEqual([{}, { a: 1 }, { b: 2 }]);
    const called = [...session.events()].flatMap((event) => (event.kind === "tool.called" ? [event.data.raw] : []));
    expect(called).toEqual([undefined, '```json\n{"a": 1,}\n```', '"{\\"b\\":2}"']);
  });

  test("calls of a round run at once unless they share a resource; results keep call order", async () => {
    const log: string[] = [];
    const slow = tool({
      name: "slow",
      description: "Takes a while.",
      input: z.object({ id: z.string(), ms: z.number(), on: z.string() }),
      repeat: "safe",
      resource: ({ on }) => on,
      run: async ({ id, ms }) => {
        log.push(`+${id}`);
        await new Promise((resolve) => setTimeout(resolve, ms));
        log.push(`-${id}`);
        return id;
      },
    });
    const session = await run({
      replies: [
        calls(
          { tool: "slow", input: { id: "a1", ms: 30, on: "a" } },
          { tool: "slow", input: { id: "a2", ms: 1, on: "a" } },
          { tool: "slow", input: { id: "b1", ms: 5, on: "b" } },
        ),
        "ok",
      ],
      tools: [slow],
    });
    expect(log).toEqual(["+a1", "+b1", "-b1", "-a1", "+a2", "-a2"]);
    expect(session.calls.map((call) => call.outcome)).toEqual([
      { type: "ok", value: "a1" },
      { type: "ok", value: "a2" },
      { type: "ok", value: "b1" },
    ]);
    expect((await session.request()).messages.at(-1)).toMatchObject({ results: [{ value: "a1" }, { value: "a2" }, { value: "b1" }] });
  });

  test("a long result is stored whole and read shortened, with how much is missing", async () => {
    const long = "x".repeat(60_000);
    const dump = tool({ name: "dump", description: "Long.", input: z.object({}), repeat: "safe", run: () => long });
    const session = await run({ replies: [calls({ tool: "dump", input: {} }), "ok"], tools: [dump] });
    expect(session.calls[0]?.outcome).toEqual({ type: "ok", value: long });
    const read = (await session.request()).messages.at(-1);
    const [result] = read?.role === "tool" ? read.results : [];
    expect(String(result?.value)).toHaveLength(50_000 + "\n[10000 of 60000 characters are not shown]".length);
    expect(String(result?.value)).toMatch(/\[10000 of 60000 characters are not shown\]$/);
  });

  test("structured output is validated, corrected by the model, and typed", async () => {
    const agent = new Agent({
      model: scripted({ output: { steps: "none" } }, { output: { steps: ["a", "b"] } }),
      output: z.object({ steps: z.array(z.string()) }),
    });
    const session = await agent.forward(testRath().session("Plan."));
    expect(session.output.steps).toEqual(["a", "b"]);
    expect(session.messages.filter(({ role }) => role === "user").at(-1)?.text).toMatch(/does not fit the schema: steps: /);
    // What JSON.parse would change without a word is no answer.
    const exact = new Agent({
      model: scripted('{"id": 9007199254740993}', '{"id": 1, "id": 2}', '{"id": 3}'),
      output: z.object({ id: z.number() }),
    });
    const exactly = await exact.forward(testRath().session("Plan."));
    expect(exactly.output).toEqual({ id: 3 });
    const corrected = exactly.messages.filter(({ role }) => role === "user").map(({ text }) => text);
    expect(corrected.join()).toMatch(/more than a number holds exactly[\s\S]*"id" is written twice/);
    const never = new Agent({ model: scripted("a", "b", "c"), output: z.object({ x: z.number() }) });
    const failed = await never.forward(testRath().session("Plan."));
    expect(failed.stop).toBe("invalid");
    expect(() => failed.output).toThrow(/stopped as "invalid" \(it is not JSON\)/);
  });

  test.each([
    ["length", { text: "half an ans", finish: "length" }, "length"],
    ["refused", { text: "no", finish: "refused" }, "refused"],
  ] as const)("an answer that ended as %s says so; its text is there, its output is not", async (_, reply, stop) => {
    const session = await run({ replies: [reply] });
    expect([session.stop, session.text]).toEqual([stop, reply.text]);
    expect(() => session.output).toThrow(RathError);
  });

  test("the schema of an output may be made of a JSON Schema", async () => {
    const output = z.fromJSONSchema({ type: "object", properties: { n: { type: "number" } }, required: ["n"] });
    const agent = new Agent({ model: scripted('{"n":"one"}', '{"n":1}'), output });
    expect((await agent.forward(testRath().session("go"))).output).toEqual({ n: 1 });
  });

  test("a function writes the instructions once; replay takes what it gave", async () => {
    let written = 0;
    const session = await run({ replies: ["ok"], instructions: () => `call ${++written}` });
    expect([(await session.request()).instructions, written]).toEqual(["call 1", 1]);
  });

  test("a handoff goes on with the other agent on the same session", async () => {
    const expert = new Agent({ name: "expert", description: "Knows it.", model: scripted((request) => `${request.messages.length} read`) });
    const session = await run({ replies: [calls({ tool: "transfer_to_expert", input: {} })], handoffs: [expert] });
    expect([session.text, session.stop]).toEqual(["3 read", "finished"]);
    expect([...session.events()].filter((event) => event.kind === "model.called").map((event) => event.by)).toEqual([
      "agent",
      "agent/expert",
    ]);
  });

  test("nested work of an agent as a tool is a session of its own, and its cost counts", async () => {
    const reader = new Agent({ name: "reader", model: scripted((request) => JSON.stringify(request.messages)) });
    const ask: Tool = reader.asTool({ name: "ask", description: "Asks the reader." });
    const session = await run({ replies: [calls({ tool: "ask", input: { task: "What is it?" } }), "done"], tools: [ask] });
    const [call] = session.calls;
    expect(call).toMatchObject({ tool: "ask", session: expect.any(String) });
    expect(JSON.parse(String(call?.outcome.type === "ok" && call.outcome.value))).toEqual([
      { role: "user", parts: [{ type: "text", text: "What is it?" }] },
    ]);
    expect(session.usage.input).toBeGreaterThan(session.usage.own.input);
  });
});

describe("what is wrong is said before anything is spent", () => {
  const bad: readonly [string, () => unknown, string, RegExp][] = [
    ["no model", () => new Agent({} as never), "agent.invalid", /has no model: give one/],
    ["an empty list of models", () => new Agent({ model: [] }), "agent.invalid", /has no model/],
    [
      "a model that is none",
      () => new Agent({ model: 7 as never }),
      "agent.invalid",
      /a model that is none \(7\): give "provider\/model",/,
    ],
    // Mutant: the whole code of a provider is in the message.
    [
      "a provider as model",
      () => new Agent({ model: (() => scripted()) as never }),
      "agent.invalid",
      /a model that is none \(a function\): a provider was given, call it with the id of a model, as in openai\("gpt-5\.5"\)\.$/,
    ],
    [
      "two tools with one name",
      () => new Agent({ model: scripted(), tools: [weather, weather] }),
      "agent.invalid",
      /two tools named "weather"/,
    ],
    ["a tool that is none", () => new Agent({ model: scripted(), tools: [{ name: "x" } as never] }), "agent.invalid", /make it with tool/],
    [
      "an output schema without JSON Schema",
      () => new Agent({ model: scripted(), output: { "~standard": { vendor: "mine" } } as never }),
      "agent.invalid",
      /of "mine" that cannot give JSON Schema/,
    ],
    // Mutant: whoever gives a JSON Schema is told to take a newer zod.
    [
      "a JSON Schema as output",
      () => new Agent({ model: scripted(), output: { type: "object" } as never }),
      "agent.invalid",
      /output that is no Standard Schema: give one of zod 4\.2 or newer; of a JSON Schema, give z\.fromJSONSchema\(schema\)\.$/,
    ],
    ["no rounds", () => new Agent({ model: scripted(), limits: { rounds: 0 } }), "agent.invalid", /whole number from 1/],
    [
      "a handoff without description",
      () => new Agent({ model: scripted(), handoffs: [new Agent({ model: scripted() })] }),
      "agent.invalid",
      /no description/,
    ],
    ["a tool name no provider takes", () => tool({ ...tools(), name: "get weather" }), "tool.invalid", /no name for a tool/],
    ["a tool schema that is no object", () => tool({ ...tools(), input: z.string() as never }), "tool.invalid", /no type "object"/],
    ["a tool schema that is none", () => tool({ ...tools(), input: undefined as never }), "tool.invalid", /is undefined/],
    [
      "a tool schema that JSON Schema cannot say",
      () => tool({ ...tools(), input: z.object({ at: z.date() }) }),
      "tool.invalid",
      /cannot be written as JSON Schema/,
    ],
    ["a tool without code", () => tool({ ...tools(), run: undefined as never }), "value.unsupported", /run of tool "t"/],
  ];
  const tools = () => ({ name: "t", description: "d", input: z.object({}), run: () => 1 });
  test.each(bad)("%s", (_, make, code, message) => {
    const error = (() => {
      try {
        make();
      } catch (thrown) {
        return thrown;
      }
      return undefined;
    })() as RathError;
    expect([error?.code, error?.message]).toEqual([code, expect.stringMatching(message)]);
  });
});
