import { describe, expect, test } from "vitest";
import { z } from "zod";
import { Agent } from "../agent/agent.ts";
import type { AgentOptions } from "../agent/options.ts";
import { Selector } from "../agent/selector.ts";
import { type Script, scripted } from "../model/scripted.ts";
import { openrath } from "../openrath.ts";
import { RathError } from "../session/errors.ts";
import type { Session } from "../session/session.ts";
import { testRath } from "../testing/test-rath.ts";
import { tool } from "../tool/tool.ts";
import { best, parallel, sequence } from "./combinators.ts";
import { Workflow } from "./workflow.ts";

const agent = (...replies: readonly Script[]) => new Agent({ model: scripted(...replies) });
const look = tool({ name: "look", description: "Looks.", input: z.object({ at: z.string() }), repeat: "safe", run: () => 1 });
const askers = (session: Session) => [...session.events()].filter(({ kind }) => kind === "model.called").map(({ by }) => by);

/** Children of every shape. */
class House extends Workflow {
  readonly name: string = "house";
  readonly cook = agent("cooked");
  readonly named = new Agent({ name: "gardener", model: scripted("dug") });
  readonly helpers = [agent("h1"), agent("h2")];
  readonly rooms = { bath: agent("b"), nested: { deep: agent("d") } };
  readonly inner = sequence(agent("s1"), agent("s2"));
  async forward(session: Session): Promise<Session> {
    let at = session;
    const { bath, nested } = this.rooms;
    for (const child of [this.cook, this.named, ...this.helpers, bath, nested.deep, this.inner]) at = await child.forward(at);
    return at;
  }
}

const names = ["cook", "gardener", "helpers-1", "helpers-2", "bath", "deep", "inner/step-1", "inner/step-2"];

describe("who acts", () => {
  test("is the path of properties, arrays and plain objects; a name of one's own comes first", async () => {
    const done = await new House().forward(testRath().session("go"));
    expect(askers(done)).toEqual(names.map((name) => `house/${name}`));
  });

  test("and describe says the same paths", () => {
    expect(new House().describe().agents.map(({ path }) => path)).toEqual(names.map((name) => `house/${name}`));
  });

  test("is what openrath was told, before the workflow's own name", async () => {
    const house = new House();
    const rath = testRath({ workflows: { villa: house } });
    expect(askers(await house.forward(rath.session("go")))[0]).toBe("villa/cook");
  });

  test("alone is its own name, else agent or workflow; class names are never used", async () => {
    class Weird extends Workflow {
      forward(session: Session) {
        return session.do("x", () => 1);
      }
    }
    const rath = testRath();
    const done = await new Weird().forward(rath.session());
    expect([...done.events()].at(-1)?.by).toBe("workflow");
    expect(askers(await agent("x").forward(rath.session()))).toEqual(["agent"]);
    expect(askers(await new Agent({ name: "me", model: scripted("x") }).forward(rath.session()))).toEqual(["me"]);
  });

  test("in a composition is the key, and in compositions of compositions each has a path of its own", async () => {
    const flow = parallel({ a: sequence(agent("1"), agent("2")), b: sequence(agent("3"), agent("4")) }, best);
    const rath = testRath();
    await flow.forward(rath.session("go"));
    const found = new Set<string>();
    for await (const session of rath.sessions()) for (const by of askers(session)) found.add(by);
    expect([...found].sort()).toEqual(["parallel/a/step-1", "parallel/a/step-2", "parallel/b/step-1", "parallel/b/step-2"]);
    expect(flow.describe().agents.map(({ path }) => path)).toEqual([...found].sort());
  });
});

describe("a workflow", () => {
  test("whose forward is a class field fails when it is made", () => {
    class Field extends Workflow {
      override forward = async (session: Session): Promise<Session> => session;
    }
    expect(() => new Field()).toThrow(/no forward method|redefine property/);
    class Both extends House {
      override forward = async (session: Session): Promise<Session> => session;
    }
    expect(() => new Both()).toThrow();
  });

  test.each([
    ["nothing", undefined],
    ["text", "done"],
    ["another object", {}],
    ["null", null],
  ])("that returns %s says so", async (_, value) => {
    class Wrong extends Workflow {
      async forward(_: Session) {
        return value as never;
      }
    }
    await expect(new Wrong().forward(testRath().session())).rejects.toMatchObject({ code: "workflow.invalid" });
  });

  test("that returns a session of another run or Rath is refused", async () => {
    const rath = testRath();
    const foreign = await rath.session("other").do("x", () => 1);
    class Wrong extends Workflow {
      async forward(_: Session) {
        return foreign;
      }
    }
    await expect(new Wrong().forward(rath.session())).rejects.toMatchObject({ code: "workflow.invalid", message: /another run/ });
  });

  test("that throws at once, without being async, fails like any other", async () => {
    class Sync extends Workflow {
      forward(_: Session): Promise<Session> {
        throw new Error("at once");
      }
    }
    await expect(new Sync().forward(testRath().session())).rejects.toThrow("at once");
  });

  test("given under a name that another one has is refused; the registered one is taken by name", async () => {
    const registered = new House();
    const rath = testRath({ workflows: { house: registered } });
    await expect(rath.run(new House(), rath.session("go"))).rejects.toMatchObject({ code: "workflow.invalid", message: /Two workflows/ });
    expect((await (await rath.run(registered, rath.session("go"))).result()).text).toBe("s2");
    expect((await (await rath.run("house", rath.session("go"))).result()).text).toBe("s2");
    await expect(rath.run("nobody", rath.session("go"))).rejects.toMatchObject({ code: "run.unknown-workflow" });
  });
});

describe("agent.with", () => {
  test("changes what is given and keeps the rest; the first stays as it was", async () => {
    const first = new Agent({ name: "coder", model: scripted("one"), instructions: "Be brief." });
    const second = first.with({ instructions: "Be long." });
    const read = async (one: Agent) => (await (await one.forward(testRath().session("go"))).request()).instructions;
    expect([await read(first), await read(second), second.name]).toEqual(["Be brief.", "Be long.", "coder"]);
    expect(() => first.with({ model: undefined as never })).toThrow(RathError);
    class Two extends Workflow {
      readonly small = agent("x");
      readonly big = this.small.with({ instructions: "Big." });
      async forward(session: Session) {
        return this.big.forward(await this.small.forward(session.say("a")));
      }
    }
    const error = await new Two().forward(testRath().session("go"));
    expect(askers(error)).toEqual(["workflow/small", "workflow/big"]);
  });
});

describe("describe", () => {
  const helper = new Agent({ name: "helper", model: scripted(), tools: [look] });
  const expert = new Agent({ name: "expert", description: "Knows.", model: [scripted(), scripted()] });
  const boss = (more: Partial<AgentOptions> = {}) =>
    new Agent({
      name: "boss",
      model: scripted(),
      instructions: "Lead.",
      tools: [look, helper.asTool({ name: "help", description: "Helps." })],
      handoffs: [expert],
      ...more,
    });

  test("lists every agent with its models and tools, also those reached by tools and handoffs", () => {
    expect(boss().describe().agents).toEqual([
      { path: "boss", model: "scripted", tools: ["look", "help"] },
      { path: "boss/expert", model: "scripted, scripted", tools: [] },
      { path: "boss/helper", model: "scripted", tools: ["look"] },
    ]);
    const selector = new Selector({ choices: { expert }, choose: scripted() });
    expect(selector.describe().agents).toEqual([
      { path: "workflow", model: "scripted", tools: [] },
      { path: "workflow/expert", model: "scripted, scripted", tools: [] },
    ]);
  });

  test("says of an agent behind a tool what it acts by, and loses none that share a name", async () => {
    const inner = (text: string) => new Agent({ name: "inner", model: scripted(text) });
    const tools = ["one", "two"].map((name) => inner(name).asTool({ name, description: name }));
    const outer = new Agent({ model: scripted({ calls: [{ tool: "one", input: { task: "x" } }] }, "done"), tools });
    expect(outer.describe().agents.map(({ path }) => path)).toEqual(["agent", "agent/inner", "agent/two"]);
    expect(askers(await outer.forward(testRath().session("go")))).toEqual(["agent", "agent/inner", "agent"]);
  });

  test("ends although two agents hand over to each other", () => {
    const handoffs: Agent[] = [];
    const a = new Agent({ name: "a", description: "A.", model: scripted(), handoffs });
    const b = new Agent({ name: "b", description: "B.", model: scripted(), handoffs: [a] });
    handoffs.push(b);
    expect(a.describe().agents.map(({ path }) => path)).toEqual(["a", "a/b"]);
  });

  test("has a revision that is the same for the same, whenever and however often it is made", () => {
    expect(boss().describe().revision).toBe(boss().describe().revision);
    expect(new House().describe()).toEqual(new House().describe());
    expect(boss({ settings: { seed: 1, temperature: 0 } }).describe().revision).toBe(
      boss({ settings: { temperature: 0, seed: 1 } }).describe().revision,
    );
  });

  const other = tool({ name: "look", description: "Looks.", input: z.object({ at: z.number() }), repeat: "safe", run: () => 1 });
  test.each<[string, Partial<AgentOptions>]>([
    ["instructions", { instructions: "Follow." }],
    ["a tool's schema", { tools: [other, helper.asTool({ name: "help", description: "Helps." })] }],
    ["one tool fewer", { tools: [look] }],
    ["what a nested agent is told", { tools: [look, helper.with({ instructions: "x" }).asTool({ name: "help", description: "Helps." })] }],
    ["the model", { model: "openai/gpt-5.5" }],
    ["a setting", { settings: { temperature: 1 } }],
    ["the output", { output: z.object({ a: z.string() }) as never }],
    ["a limit", { limits: { rounds: 3 } }],
    ["a handoff", { handoffs: [] }],
  ])("its revision changes with %s", (_, change) => {
    expect(boss(change).describe().revision).not.toBe(boss().describe().revision);
  });

  test("its revision changes with a workflow's version and with a child, and not with what a tool's code does", () => {
    class Versioned extends House {
      readonly version: string;
      constructor(version: string) {
        super();
        this.version = version;
      }
    }
    expect(new Versioned("1").describe().revision).not.toBe(new Versioned("2").describe().revision);
    expect(new Versioned("1").describe().revision).toBe(new Versioned("1").describe().revision);
    const same = tool({ name: "look", description: "Looks.", input: z.object({ at: z.string() }), repeat: "safe", run: () => 2 });
    expect(boss({ tools: [same] }).describe().revision).toBe(boss({ tools: [look] }).describe().revision);
  });
});

describe("rath.ready", () => {
  test("names the agent whose model is missing, also behind a tool", async () => {
    await using rath = openrath({ store: "memory" });
    const hidden = new Agent({ name: "hidden", model: "nobody/nothing" });
    const top = new Agent({ name: "top", model: scripted(), tools: [hidden.asTool({ name: "ask", description: "Asks." })] });
    await expect(rath.ready(top)).rejects.toMatchObject({ code: "model.unknown", message: expect.stringMatching(/^top\/hidden: /) });
    await rath.ready(new House());
  });
});
