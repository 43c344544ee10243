/** Agents executed again: what is reused, what is asked, and how a difference is told. */
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { Agent } from "../../src/agent/agent.ts";
import type { AgentOptions } from "../../src/agent/options.ts";
import { type Script, scripted } from "../../src/model/scripted.ts";
import { replay } from "../../src/runtime/replay.ts";
import { rerun } from "../../src/runtime/rerun.ts";
import type { Event } from "../../src/session/event.ts";
import type { Session } from "../../src/session/session.ts";
import { testRath } from "../../src/testing/test-rath.ts";
import { tool } from "../../src/tool/tool.ts";
import { parallel, sequence } from "../../src/workflow/combinators.ts";
import { Flow } from "../support/flow.ts";
import { attempts, noUsage, pricedRath, says } from "../support/models.ts";

function world() {
  const done: string[] = [];
  const count =
    (name: string, reply: Script): Script =>
    (request, session) => {
      done.push(name);
      return typeof reply === "function" ? reply(request, session) : reply;
    };
  const weather = tool({
    name: "weather",
    description: "Weather of a city.",
    input: z.object({ city: z.string() }),
    repeat: "safe",
    run: ({ city }) => {
      done.push(`weather ${city}`);
      return `sun in ${city}`;
    },
  });
  const said = (request: { readonly messages: readonly unknown[] }) => JSON.stringify(request.messages);
  const agent = (more: Partial<AgentOptions> = {}) =>
    new Agent({
      name: "guide",
      instructions: "Be kind.",
      model: scripted(
        count("plan", (request) => ({
          calls: [{ tool: "weather", input: { city: said(request).includes("Porto") ? "Porto" : "Lisbon" } }],
        })),
        count("answer", (request) => `Pack for ${said(request).includes("rain") ? "rain" : "sun"}.`),
      ),
      tools: [weather],
      ...more,
    });
  return { done, agent, weather };
}
const first = (session: Session, kind: Event["kind"], nth = 0) =>
  [...session.events()].filter((event) => event.kind === kind)[nth] as Event;

describe("a rerun of an agent", () => {
  test("with nothing changed asks nobody and costs nothing", async () => {
    const { done, agent } = world();
    const session = await agent().forward(testRath().session("Where to?"));
    done.length = 0;
    const again = await rerun(session, agent());
    expect([done, again.reused, again.of, again.split]).toEqual([[], 3, 3, undefined]);
    expect(again.session.text).toBe("Pack for sun.");
    expect([again.session.usage.own.input, again.saved.input]).toEqual([0, session.usage.input]);
    expect(again.saved.output).toBe(session.usage.output);
    expect(String(await replay(again.session, agent()))).toMatch(/^identical/);
  });

  test("with another model or other instructions from one call on asks it, and replays as it was rerun", async () => {
    const { done, agent } = world();
    const session = await agent().forward(testRath().session("Where to?"));
    const both = () => sequence(agent(), new Agent({ name: "other", model: { ...scripted("-", "Pack little."), id: "other/model" } }));
    const spoken = await both().forward(testRath().session("Where to?"));
    done.length = 0;
    const calm = await rerun(session, agent(), { change: { event: first(session, "model.returned", 1).id, instructions: "Be calm." } });
    expect([done, calm.reused]).toEqual([["answer"], 2]);
    expect((await calm.session.request()).instructions).toBe("Be calm.");
    expect(String(await replay(calm.session, agent()))).toMatch(/^identical/);
    done.length = 0;
    const still = await rerun(calm.session, agent());
    expect([done, still.reused, (await still.session.request()).instructions]).toEqual([[], 3, "Be calm."]);
    const call = first(spoken, "model.called", 1);
    const little = await rerun(spoken, both(), { change: { event: call.id, model: "other/model" } });
    expect([...little.session.events()].filter(({ kind }) => kind === "model.returned").map(({ by }) => by)).toHaveLength(3);
    expect(first(little.session, "model.called", 1).data).toMatchObject({ model: "other/model" });
    expect(first(little.session, "model.called", 0).data).toMatchObject({ model: "scripted" });
    expect(String(await replay(little.session, both()))).toMatch(/^identical/);
    const weather = first(session, "tool.called").id;
    await expect(rerun(session, agent(), { change: { event: weather, model: "other/model" } })).rejects.toThrow("is no model call");
  });

  test("with a model that has no name, or instructions that are no text, is refused before it begins", async () => {
    const { done, agent } = world();
    const session = await agent().forward(testRath().session("Where to?"));
    done.length = 0;
    const { id: event } = first(session, "model.called");
    const again = (change: object) => rerun(session, agent(), { change: { event, ...change } as never });
    await expect(again({ model: scripted("No.") })).rejects.toMatchObject({
      code: "value.unsupported",
      message: "change.model is an object: give a name, and name the model by it in openrath({ models }).",
    });
    await expect(again({ instructions: () => "Be calm." })).rejects.toThrow("change.instructions is a function: give a string.");
    expect(done).toEqual([]);
  });

  test("says so when nobody asks as the changed agent did", async () => {
    const { agent } = world();
    const session = await agent().forward(testRath().session("Where to?"));
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    const change = { event: first(session, "model.called").id, instructions: "Be calm." };
    const again = await rerun(session, agent({ name: "another guide" }), { change });
    expect([again.reused, again.of]).toEqual([3, 3]);
    expect(warned.mock.calls.map(([text]) => String(text))).toEqual([expect.stringContaining("changed nothing")]);
    // One that asks as the earlier rerun did has nothing to say.
    warned.mockClear();
    const calm = await rerun(session, agent(), { change });
    await rerun(calm.session, agent());
    expect(warned).not.toHaveBeenCalled();
    warned.mockRestore();
  });

  test("with another message splits at the first model call, which reads it", async () => {
    const { done, agent } = world();
    const session = await agent().forward(testRath().session("Where to?"));
    done.length = 0;
    const again = await rerun(session, agent(), { change: (input) => input.say("Porto, please.") });
    expect(done).toEqual(["plan", "weather Porto", "answer"]);
    expect([again.reused, again.split?.kind, again.saved.input]).toEqual([0, "model.called", 0]);
  });

  test("with another result of a tool asks the model again from there", async () => {
    const { done, agent } = world();
    const session = await agent().forward(testRath().session("Where to?"));
    for (const kind of ["tool.called", "tool.returned"] as const) {
      done.length = 0;
      const again = await rerun(session, agent(), { change: { event: first(session, kind).id, output: "rain" } });
      expect([done, again.session.text]).toEqual([["answer"], "Pack for rain."]);
      expect([again.reused, again.of, again.split?.kind]).toEqual([1, 3, "tool.called"]);
      expect(again.session.calls[0]?.outcome).toEqual({ type: "ok", value: "rain" });
    }
  });

  test("with another answer of a model goes on from that", async () => {
    const { done, agent } = world();
    const session = await agent().forward(testRath().session("Where to?"));
    done.length = 0;
    const again = await rerun(session, agent(), { change: { event: first(session, "model.returned").id, output: "I know already." } });
    expect([done, again.session.text, again.session.stop]).toEqual([[], "I know already.", "finished"]);
  });

  test("with another verdict goes the other way", async () => {
    const flow = sequence(
      (session) => session.check("tests", () => true),
      (session) => session.do(session.checks.at(-1)?.passed ? "ship" : "fix", () => 1, { repeat: "safe" }),
    );
    const session = await flow.forward(testRath().session("go"));
    const again = await rerun(session, flow, { change: { event: first(session, "check.returned").id, output: false } });
    expect(first(again.session, "do.called").data).toMatchObject({ name: "fix" });
    const scored = await rerun(session, flow, { change: { event: first(session, "check.called").id, output: { passed: true, score: 3 } } });
    expect(scored.session.checks).toMatchObject([{ passed: true, score: 3 }]);
  });

  test("an agent whose instructions changed is asked again; a tool whose history is equal is not called again", async () => {
    const { done, agent, weather } = world();
    const flow = (kind: string) => sequence((session) => session.call(weather, { city: "Faro" }), agent({ instructions: kind }));
    const session = await flow("Be kind.").forward(testRath().session("Where to?"));
    done.length = 0;
    const again = await rerun(session, flow("Be brief."));
    expect([done, again.reused, again.of]).toEqual([["plan", "weather Lisbon", "answer"], 1, 4]);
  });

  test("branches are independent: only the one that differs is done again", async () => {
    const { done, agent } = world();
    const flow = (right: string) =>
      parallel({ left: agent({ name: "left" }), right: agent({ name: "right", instructions: right }) }, async ([one, two]) =>
        (one as Session).merge(two as Session),
      );
    const session = await flow("Be kind.").forward(testRath().session("Where to?"));
    done.length = 0;
    const again = await rerun(session, flow("Be brief."));
    expect([done, again.reused, again.of]).toEqual([["plan", "weather Lisbon", "answer"], 3, 6]);
  });

  test("results that came in another order are the same round", async () => {
    let asked = 0;
    const slow = tool({
      name: "slow",
      description: "x",
      input: z.object({ ms: z.number() }),
      repeat: "safe",
      run: ({ ms }) => new Promise((resolve) => setTimeout(resolve, ms, ms)),
    });
    const calls = [20, 10, 1].map((ms) => ({ tool: "slow", input: { ms } }));
    const agent = new Agent({ model: scripted({ calls }, () => `asked ${++asked} times`), tools: [slow] });
    const session = await agent.forward(testRath().session("go"));
    const again = await rerun(session, agent);
    expect([again.reused, again.of, asked]).toEqual([5, 5, 1]);
  });

  // Mutants: the place after the last result of a round stands for that of its source, which may have come earlier; no result of a
  // round stands for its source, whose nested work a reused one has not.
  test.each([
    ["tools", false],
    ["agents as tools", true],
  ])("what follows a round of %s whose results came in another order than their calls is not done again", async (_, nested) => {
    const done: string[] = [];
    let slow = "";
    const takes = (name: string) => async () => {
      done.push(name);
      await new Promise((resolve) => setTimeout(resolve, name === slow ? 30 : 1));
      return name;
    };
    const plain = (name: string) =>
      tool({ name, description: name, input: z.object({ task: z.string() }), repeat: "safe", writes: "nothing", run: takes(name) });
    const asked = (name: string) =>
      tool({
        name,
        description: name,
        input: z.object({ task: z.string() }),
        repeat: "safe",
        run: async (_input, { session }) => (await session.do(`in ${name}`, takes(name), { repeat: "safe" })).output,
      });
    const names = ["first", "second", "third"];
    const agent = new Agent({
      model: scripted({ calls: names.map((name) => ({ tool: name, input: { task: "x" } })) }, "done"),
      tools: names.map((name) => (nested && name !== "third" ? asked(name) : plain(name))),
    });
    const flow = new Flow(async (session) => (await agent.forward(session)).do("book", () => done.push("book"), { repeat: "safe" }));
    for (slow of names) {
      const session = await flow.forward(testRath().session("go"));
      done.length = 0;
      const again = await rerun(session, flow);
      expect([done, again.reused, again.split]).toEqual([[], again.of, undefined]);
      // A rerun of the rerun reuses what was reused.
      const third = await rerun(again.session, flow);
      expect([done, third.split]).toEqual([[], undefined]);
    }
  });

  // Mutant: of a merge the whole history of its branches counts, from the root on: a fork on which a run is done again differs there.
  test.each([
    ["with labels", "in", undefined],
    ["without labels", undefined, undefined],
    ["with all that was said", "in", "all"],
    ["as a function tells it", "in", (others: readonly Session[]) => others.map(({ text }) => `They came to ${text}.`).join(" ")],
  ] as const)("branches that were merged %s are read again as they were, and nobody is asked", async (_, label, context) => {
    const { done, agent } = world();
    const flow = new Flow(async (session) => {
      const named = (name: string) => (label === undefined ? session.fork() : session.fork(`${label} ${name}`));
      const [a, b, c] = await Promise.all(
        ["a", "b", "c"].map((name) => named(name).do(name, () => `result of ${name}`, { repeat: "safe" })),
      );
      return agent().forward(await (a as Session).merge([b, c] as Session[], context === undefined ? {} : { context }));
    });
    const rath = testRath();
    const session = await flow.forward(rath.session("Where to?"));
    done.length = 0;
    const again = await rerun(session, flow);
    expect([done, again.reused, again.split]).toEqual([[], 6, undefined]);
  });

  // Mutant: a merge is not read by its contents, and what another branch came to makes no difference.
  test("what a merged branch came to is read: another result asks the model again", async () => {
    const { done, agent } = world();
    const flow = new Flow(async (session) => {
      const [a, b, c] = await Promise.all(
        ["a", "b", "c"].map((name) => session.fork(name).do(name, () => `result of ${name}`, { repeat: "safe", input: name })),
      );
      return agent().forward(await (a as Session).merge([b, c] as Session[]));
    });
    const session = await flow.forward(testRath().session("Where to?"));
    done.length = 0;
    const made = [...session.events()].find((event) => event.kind === "session.merged") as Event;
    const event = made.parents[1] as string;
    const again = await rerun(session, flow, { change: { event, output: "rain" } });
    expect(done).toEqual(["plan", "weather Lisbon", "answer"]);
    expect((await again.session.request()).messages[1]).toMatchObject({ parts: [{ text: expect.stringContaining("rain") }] });
  });

  test("the money it saved is said", async () => {
    const rath = pricedRath({ m: { input: 1, output: 1 } });
    const agent = new Agent({ model: attempts("m", [says("ok", { usage: { ...noUsage, input: 100, output: 50 } })], { free: false }) });
    const again = await rerun(await agent.forward(rath.session("go")), agent);
    expect(again.saved.usd).toBeCloseTo(150e-6, 12);
    expect(again.session.usage.own.usd).toBe(0);
  });
});

describe("a replay of an agent that changed names what changed", () => {
  const long = `You are a guide. ${"Remember the rules. ".repeat(20)}`;
  const changes: readonly [string, Partial<AgentOptions>, Partial<AgentOptions>, RegExp][] = [
    ["instructions", {}, { instructions: "Be brief." }, /"instructions" was "Be kind\.", now "Be brief\."/],
    [
      "the end of long instructions",
      { instructions: `${long}Be kind.` },
      { instructions: `${long}Be brief.` },
      /"instructions" was "…[^"]*Be kind\.", now "…[^"]*Be brief\."/,
    ],
    ["a setting", { settings: { temperature: 0 } }, { settings: { temperature: 1 } }, /"settings\.temperature" was 0, now 1/],
    ["a new setting", {}, { settings: { seed: 7 } }, /"settings" was nothing, now \{"seed":7\}/],
    ["no tools", {}, { tools: [] }, /"tools\.0" was \{.*"weather".*, now nothing/],
    [
      "a tool's description",
      {},
      {
        tools: [tool({ name: "weather", description: "Else.", input: z.object({ city: z.string() }), repeat: "safe", run: () => 1 })],
      },
      /"tools\.0\.description" was "Weather of a city\.", now "Else\."/,
    ],
    ["the output schema", {}, { output: z.object({ a: z.string() }) as never }, /"output" was nothing, now \{.*"a"/],
    ["the model", {}, { model: attempts("other", [says("x")]) }, /"model" was "scripted", now "other"/],
    ["a fallback", {}, { model: [scripted("x"), attempts("other", [says("x")])] }, /"fallbacks" was nothing, now \["other"\]/],
  ];
  test.each(changes)("%s", async (_, before, after, message) => {
    const { agent } = world();
    const session = await agent(before).forward(testRath().session("Where to?"));
    const report = await replay(session, agent({ ...before, ...after }));
    expect(String(report)).toMatch(message);
    expect(String(report)).toMatch(/^diverged at step \d+ \(model\.called\)/);
    expect(report.identical === false && report.at.kind).toBe("model.called");
  });

  test("another name is told, and is no difference", async () => {
    const { agent } = world();
    const session = await agent().forward(testRath().session("Where to?"));
    const report = await replay(session, agent({ name: "leader" }));
    expect([report.identical, report.renamed]).toEqual([true, [{ from: "guide", to: "leader" }]]);
  });

  test("an agent in another place of the workflow, too", async () => {
    const { agent } = world();
    const session = await sequence(agent()).forward(testRath().session("Where to?"));
    const report = await replay(
      session,
      sequence((at) => at.say("one more"), agent()),
    );
    expect(report.identical).toBe(false);
    expect(String(report)).toMatch(/workflow\.entered|message\.added/);
  });
});
