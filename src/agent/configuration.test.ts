import { describe, expect, test } from "vitest";
import { z } from "zod";
import { attempts, noUsage, says } from "../../test/support/models.ts";
import { sharedStore } from "../../test/support/shared-store.ts";
import { scripted } from "../model/scripted.ts";
import { composeRath } from "../openrath.ts";
import { replay } from "../runtime/replay.ts";
import type { ModelRequest } from "../session/message.ts";
import type { Session } from "../session/session.ts";
import { testRath } from "../testing/test-rath.ts";
import { tool } from "../tool/tool.ts";
import { Workflow } from "../workflow/workflow.ts";
import { Agent } from "./agent.ts";

describe("secrets in what an agent is made of", () => {
  const secret = 'pa"ss\\wo\nrd';

  test("reach neither the log nor the model, whatever JSON makes of them", async () => {
    const rath = testRath({ secrets: [secret] });
    const model = attempts("m", [says("ok")]);
    const look = tool({ name: "look", description: `With ${secret}.`, input: z.object({ at: z.string().describe(secret) }), run: () => 1 });
    const agent = new Agent({ model, instructions: `Use ${secret} and sk-ant-${"a".repeat(30)}.`, tools: [look] });
    const session = await agent.forward(rath.session("go"));
    const request = await session.request();
    expect(request.instructions).toBe("Use [redacted] and [redacted].");
    expect(JSON.stringify(request.tools)).not.toContain("wo");
    // What is on record is what the model read.
    expect(model.asked[0]?.instructions).toBe(request.instructions);
    expect(model.asked[0]?.tools).toEqual(request.tools);
  });

  test("in the arguments of a call, which are JSON inside text, are found too", async () => {
    const rath = testRath({ secrets: [secret] });
    const seen: string[] = [];
    const look = tool({ name: "look", description: "x", input: z.object({ at: z.string() }), run: ({ at }) => void seen.push(at) });
    const agent = new Agent({ model: scripted({ calls: [{ tool: "look", input: { at: secret } }] }, "done"), tools: [look] });
    const session = await agent.forward(rath.session("go"));
    expect(seen).toEqual(["[redacted]"]);
    expect(JSON.stringify([...session.events()])).not.toContain("wo\\");
  });

  test("are not shown to whoever reads a stream, in pieces, progress or failures", async () => {
    const rath = testRath({ secrets: ["hunter2-secret"] });
    const told = attempts("m", [
      says("", { finish: "calls", parts: [{ type: "call", id: "c", tool: "look", input: "{}" }] }),
      async function* () {
        for (const text of ["It is hunt", "er2-sec", "ret, you ", "see"]) yield { type: "text-delta", text };
        const parts = [{ type: "text" as const, text: "It is hunter2-secret, you see" }];
        yield { type: "reply", reply: { parts, finish: "stop", usage: noUsage } };
      },
    ]);
    const look = tool({ name: "look", description: "x", input: z.object({}), run: (_, { progress }) => progress("hunter2-secret") });
    const stream = new Agent({ model: told, tools: [look] }).stream(rath.session("go"));
    expect(await stream.toResponse({ format: "text" }).text()).toBe("It is [redacted], you see");
    expect(await stream.toResponse().text()).not.toMatch(/hunter2|er2-sec/);
    class Failing extends Workflow {
      forward(): Promise<Session> {
        throw new Error("no access with hunter2-secret");
      }
    }
    const failed = new Failing().stream(rath.session("go"));
    expect(await failed.toResponse().text()).toContain("no access with [redacted]");
  });

  test("that have no end do not swallow what comes after them", async () => {
    const agent = new Agent({ model: scripted("ok"), instructions: "Never print -----BEGIN PRIVATE KEY----- lines." });
    const session = await agent.forward(testRath().session("go"));
    expect((await session.request()).instructions).toBe("Never print [redacted]");
  });
});

describe("agents", () => {
  test("may be named like what every object has", async () => {
    for (const name of ["constructor", "toString", "__proto__", "hasOwnProperty"]) {
      const rath = testRath();
      const agent = new Agent({ name, model: scripted("one", "two") });
      const first = await agent.forward(rath.session("go"));
      expect([name, first.text, (await agent.forward(first.say("again"))).text]).toEqual([name, "one", "two"]);
      const run = await rath.run(agent, rath.session("go"));
      expect((await run.result()).text).toBe("one");
    }
  });

  test("that hand over to each other end", async () => {
    const handing = (to: string) =>
      attempts("m", [says("", { finish: "calls", parts: [{ type: "call", id: "c", tool: `transfer_to_${to}`, input: "{}" }] })]);
    const models = { a: handing("b"), b: handing("a") };
    const back = { name: "a", description: "Goes back.", forward: (session: Parameters<Agent["forward"]>[0]) => a.forward(session) };
    const b = new Agent({ name: "b", description: "Goes on.", model: models.b, handoffs: [back] });
    const a: Agent = new Agent({ name: "a", description: "Begins.", model: models.a, handoffs: [b] });
    const session = await a.forward(testRath().session("go"));
    const asked = models.a.asked.length + models.b.asked.length;
    expect([session.stop, asked]).toEqual(["rounds", 100]);
  });
});

describe("a hook that takes a tool away", () => {
  test("takes it away: the model cannot call it either", async () => {
    let ran = 0;
    const act = tool({ name: "act", description: "x", input: z.object({}), run: () => ++ran });
    const call = { calls: [{ tool: "act", input: {} }] };
    const hooks = { beforeModel: (request: ModelRequest) => (request.messages.length === 1 ? { ...request, tools: [] } : undefined) };
    const agent = new Agent({ model: scripted(call, call, "done"), tools: [act], hooks });
    const session = await agent.forward(testRath().session("go"));
    expect(session.calls.map(({ outcome }) => outcome.type)).toEqual(["error", "ok"]);
    expect(ran).toBe(1);
    expect(String(await replay(session, agent))).toMatch(/^identical/);
  });
});

describe("a structured answer", () => {
  test("that is a fence and nothing but lines is read at once", async () => {
    const agent = new Agent({
      model: scripted(`\`\`\`json${"\n".repeat(20_000)}`, '```json\n{"n":1}\n```'),
      output: z.object({ n: z.number() }),
    });
    const begin = performance.now();
    expect((await agent.forward(testRath().session("go"))).output).toEqual({ n: 1 });
    expect(performance.now() - begin).toBeLessThan(2000);
  });
});

describe("what cannot be", () => {
  test("an output schema without JSON Schema is refused by name", () => {
    const output = z.object({ at: z.string().transform((text) => new Map([[text, 1]])) });
    expect(() => new Agent({ model: scripted("x"), name: "typed", output })).toThrow(
      expect.objectContaining({ code: "agent.invalid", message: expect.stringContaining("cannot be written as JSON Schema") }),
    );
  });

  test("an output schema that throws takes nothing", async () => {
    const validate = (): never => {
      throw new Error("broken schema");
    };
    const output = { "~standard": { version: 1, vendor: "x", validate, jsonSchema: { output: () => ({ type: "object" }) } } } as never;
    const session = await new Agent({ model: scripted("{}", "{}", "{}"), output }).forward(testRath().session("go"));
    expect(session.stop).toBe("invalid");
  });
});

describe("what a probe says that a tool gave", () => {
  test("is shown to the model as much of as what the tool says itself", async () => {
    const model = attempts("m", [
      says("", { finish: "calls", parts: [{ type: "call", id: "c", tool: "once", input: "{}" }] }),
      says("done"),
    ]);
    const once = tool({
      name: "once",
      description: "x",
      input: z.object({}),
      timeout: "10ms",
      probe: async () => ({ happened: true, output: "y".repeat(60_000) }),
      run: () => new Promise<string>(() => {}),
    });
    const session = await new Agent({ model, tools: [once] }).forward(testRath().session("go"));
    expect(session.calls[0]?.outcome).toMatchObject({ type: "ok", value: "y".repeat(60_000) });
    const read = model.asked[1]?.messages.at(-1);
    const [result] = read?.role === "tool" ? read.results : [];
    expect(result?.value).toMatch(/10000 of 60000 characters are not shown/);
  });
});

test("what a hook replaced at first is stored when it is used later", async () => {
  const store = sharedStore();
  const rath = composeRath({ store }, {});
  const look = tool({ name: "look", description: "Looks.", input: z.object({}), repeat: "safe", run: () => 1 });
  const beforeModel = (request: ModelRequest) => (request.messages.length === 1 ? { ...request, instructions: "Only now." } : undefined);
  const model = scripted({ calls: [{ tool: "look", input: {} }] }, { calls: [{ tool: "look", input: {} }] }, "done");
  const session = await new Agent({ model, instructions: "Always.", tools: [look], hooks: { beforeModel } }).forward(rath.session("go"));
  await rath.close();
  await using again = composeRath({ store }, {});
  const opened = await again.open(session.id);
  const asked = [...opened.events()].filter((event) => event.kind === "model.called");
  const read = await Promise.all(asked.map(async (event) => (await opened.at(event.id).request()).instructions));
  expect(read).toEqual(["Only now.", "Always.", "Always."]);
});
