import { describe, expect, test } from "vitest";
import { z } from "zod";
import { Flow } from "../../test/support/flow.ts";
import { type Attempt, attempts, breaks, noUsage, pricedRath, says } from "../../test/support/models.ts";
import { napping } from "../../test/support/napping.ts";
import { until } from "../../test/support/other-process.ts";
import { sharedStore } from "../../test/support/shared-store.ts";
import { volatileMemory } from "../memory/volatile.ts";
import { modelFailed } from "../model/failure.ts";
import { scripted } from "../model/scripted.ts";
import { composeRath } from "../openrath.ts";
import { nodePlatform } from "../runtime/platform.ts";
import type { Rath } from "../runtime/rath.ts";
import { replay } from "../runtime/replay.ts";
import { loadRun } from "../runtime/run-record.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Event } from "../session/event.ts";
import type { Model } from "../session/model.ts";
import type { Limits, Session } from "../session/session.ts";
import { placeOf } from "../session/value.ts";
import { hashEmbedder } from "../testing/hash-embedder.ts";
import { testRath } from "../testing/test-rath.ts";
import { tool } from "../tool/tool.ts";
import { best, parallel } from "../workflow/combinators.ts";
import { Workflow } from "../workflow/workflow.ts";
import { Agent } from "./agent.ts";
import type { AgentOptions } from "./options.ts";

/** A model whose every answer takes so many tokens, and which remembers how long it was allowed to be. */
function spends(input: number, output: number, more: Partial<Model> = {}) {
  return attempts("m", [says("ok", { usage: { ...noUsage, input, output } })], more);
}

/** The worst a model can do: as many tokens as bytes, and an answer as long as it may be. */
function worst(more: Partial<Model> = {}) {
  const answer: Attempt = async function* (request) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    const input = Buffer.byteLength(JSON.stringify([request.instructions, request.tools, null, request.messages]));
    const usage = { ...noUsage, input, output: request.settings.maxOutputTokens ?? 0 };
    yield { type: "reply", reply: { parts: [{ type: "text", text: "ok" }], finish: "stop", usage } };
  };
  return attempts("m", [answer], more);
}

/** What the run behind a session said of itself. */
async function journal(session: Session): Promise<Event[]> {
  const { node, context } = placeOf(session);
  const record = await loadRun(context.host as Runtime, node.run as string);
  return record.journal.map((entry) => entry.event(context.host.platform));
}
const crossings = async (session: Session) =>
  (await journal(session)).flatMap((event) => (event.kind === "budget.crossed" ? [event.data] : []));
const denied = (session: Session) =>
  [...session.events()].filter(({ kind, facts }) => kind === "model.returned" && facts.outcome === "denied");

async function ask(options: AgentOptions, rath: Rath = testRath()): Promise<Session> {
  const agent = new Agent(options);
  const session = await agent.forward(rath.session("go"));
  expect(String(await replay(session, agent))).toMatch(/^identical/);
  return session;
}

/** Ten forks at once, each asking an agent; the limit is the workflow's. */
class Ten extends Workflow {
  readonly agent: Agent;
  constructor(model: Model, limits?: Limits, each?: Limits) {
    super(limits);
    this.agent = new Agent({ model, settings: { maxOutputTokens: 100 }, limits: each });
  }
  async forward(session: Session) {
    const all = await Promise.all(Array.from({ length: 10 }, (_, n) => this.agent.forward(session.fork(`f${n}`))));
    return (all[0] as Session).merge(all.slice(1));
  }
}

describe("limits of an agent", () => {
  test("rounds: it stops before the call that would be too many, and says so in the run", async () => {
    const again = tool({ name: "again", description: "x", input: z.object({}), repeat: "safe", run: () => 1 });
    const model = scripted(...Array.from({ length: 9 }, () => ({ calls: [{ tool: "again", input: {} }] })));
    const session = await ask({ model, tools: [again], limits: { rounds: 3 } });
    expect([session.stop, [...session.events()].filter(({ kind }) => kind === "model.called").length]).toEqual(["rounds", 3]);
    expect(await crossings(session)).toEqual([{ limit: "rounds", of: 3, spent: 3, by: "agent" }]);
  });

  test("rounds: as many as are allowed, also more than by default", async () => {
    const again = tool({ name: "again", description: "x", input: z.object({}), repeat: "safe", run: () => 1 });
    const model = scripted(...Array.from({ length: 150 }, () => ({ calls: [{ tool: "again", input: {} }] })), "done");
    expect((await ask({ model, tools: [again], limits: { rounds: 151 } })).stop).toBe("finished");
    expect((await ask({ model, tools: [again] })).stop).toBe("rounds");
  });

  test("time: longer than a timer can be set for is no time at all that is over", async () => {
    const session = await ask({
      model: scripted({ text: "ok", delay: 20 }),
      limits: { time: "60d" },
      retry: { timeout: "60d", attempts: 1 },
    });
    expect([session.stop, session.text]).toEqual(["finished", "ok"]);
  });

  test("tokens: refused before the spend, recorded as denied", async () => {
    const model = spends(50, 50);
    const session = await ask({ model, limits: { tokens: 10 } });
    expect([session.stop, model.asked.length, session.usage.input]).toEqual(["budget", 0, 0]);
    expect(denied(session)).toMatchObject([{ data: { reason: "budget: 10 tokens would be crossed" } }]);
    expect(await crossings(session)).toEqual([{ limit: "tokens", of: 10, spent: 0, by: "agent" }]);
  });

  test("tokens: the answer may be as long as what is left, and the result says so", async () => {
    const model = spends(50, 50);
    const session = await ask({ model, limits: { tokens: 1000 }, settings: { temperature: 0 } });
    const [allowed] = model.asked.map(({ settings }) => settings.maxOutputTokens ?? 0);
    expect(allowed).toBeGreaterThan(100);
    expect(allowed).toBeLessThan(1000);
    expect(model.asked[0]?.settings.temperature).toBe(0);
    expect([...session.events()].find(({ kind }) => kind === "model.returned")?.data).toMatchObject({ maxOutputTokens: allowed });
    const asked = spends(50, 50);
    await ask({ model: asked, limits: { tokens: 100_000 }, settings: { maxOutputTokens: 77 } });
    expect(asked.asked[0]?.settings.maxOutputTokens).toBe(77);
  });

  test("tokens: a long result counts in full, whether it is on disk already or not", async () => {
    const dump = tool({ name: "dump", description: "x", input: z.object({}), repeat: "safe", run: () => "x".repeat(20_000) });
    // An effect that may not be repeated brings everything before it to disk.
    const once = tool({ name: "once", description: "x", input: z.object({}), run: () => 1 });
    const calls = ["dump", "once"].map((name) => ({ tool: name, input: {} }));
    for (const tools of [[dump], [dump, once]]) {
      const model = scripted({ calls: calls.slice(0, tools.length), usage: { input: 100, output: 10 } }, "ok");
      const session = await ask({ model, tools, limits: { tokens: 10_000 }, settings: { maxOutputTokens: 100 } });
      expect([tools.length, session.stop]).toEqual([tools.length, "budget"]);
    }
  });

  test("usd: counted at the price of the model that answered", async () => {
    const rath = pricedRath({ m: { input: 1, output: 10 } });
    const model = spends(1000, 100, { free: false });
    const session = await ask({ model, limits: { usd: 1 } }, rath);
    expect(session.usage.usd).toBeCloseTo(0.002, 9);
    expect([...session.events()].find(({ kind }) => kind === "model.returned")?.data).toMatchObject({
      price: { table: "test", output: 10 },
    });
    const poor = spends(1000, 100, { free: false });
    const refused = await ask({ model: poor, limits: { usd: 0.0001 } }, rath);
    expect([refused.stop, poor.asked.length]).toEqual(["budget", 0]);
    expect(denied(refused)).toMatchObject([{ data: { reason: "budget: $0.0001 would be crossed" } }]);
    expect(await crossings(refused)).toMatchObject([{ limit: "usd", of: 0.0001 }]);
  });

  test("usd: an unknown price is refused where money is limited, and only marked where it is not; free models cost nothing", async () => {
    const rath = pricedRath({});
    const unknown = spends(1, 1, { free: false });
    const refused = await ask({ model: unknown, limits: { usd: 5 } }, rath);
    expect([refused.stop, unknown.asked.length]).toEqual(["budget", 0]);
    expect(() => refused.output).toThrow(/the price of m is not known/);
    const unlimited = await ask({ model: unknown }, rath);
    expect([...unlimited.events()].find(({ kind }) => kind === "model.returned")?.data).toMatchObject({ unpriced: true });
    expect((await ask({ model: spends(1, 1), limits: { usd: 0 } }, rath)).stop).toBe("finished");
  });

  test("usd: of several models the dearest is reserved, and the one that answered is paid", async () => {
    const rath = pricedRath({ a: { input: 1, output: 1 }, b: { input: 100, output: 100 } });
    const failing = attempts("a", [breaks(modelFailed("no", { retryable: false }))], { free: false });
    const b = attempts("b", [says("ok", { usage: { ...noUsage, input: 10, output: 10 } })], { free: false });
    const session = await ask({ model: [failing, b], limits: { usd: 10 } }, rath);
    expect(session.usage.usd).toBeCloseTo(20 * 100e-6, 9);
    const poor = await ask({ model: [failing, b], limits: { usd: 0.001 } }, rath);
    expect(poor.stop).toBe("budget");
  });

  test("a fallback without a price is not paid at the price of the first model", async () => {
    const rath = pricedRath({ a: { input: 1, output: 1 } });
    const failing = attempts("a", [breaks(modelFailed("no", { retryable: false }))], { free: false });
    const b = attempts("b", [says("ok", { usage: { ...noUsage, input: 10, output: 10 } })], { free: false });
    const session = await ask({ model: [failing, b] }, rath);
    expect([...session.events()].find(({ kind }) => kind === "model.returned")?.data).toMatchObject({ unpriced: true, model: "b" });
    expect(session.usage.usd).toBe(0);
  });

  test.each([
    ["a rate", { input: Number.NaN, output: 1 }],
    ["the rate of the answer", { input: 1, output: Number.NaN }],
    ["a rate below nothing", { input: 1, output: -1 }],
  ])("usd: where %s cannot be counted with, no model is asked", async (_, price) => {
    const model = spends(10, 10, { free: false });
    expect((await ask({ model, limits: { usd: 1 } }, pricedRath({ m: price }))).stop).toBe("budget");
    expect(model.asked.length).toBe(0);
  });

  test.each<readonly [string, Limits]>([
    ["usd", { usd: 1 }],
    ["tokens", { tokens: 100_000 }],
  ])("%s: after an answer that took no number of tokens, no model is asked any more", async (_, limits) => {
    const model = spends(10, Number.NaN, { free: false });
    const twice = new Flow(async (session) => {
      const first = await new Agent({ name: "a", model }).forward(session);
      return new Agent({ name: "b", model }).forward(first.say("more"));
    }, "twice");
    const rath = pricedRath({ m: { input: 1, output: 1 } });
    const done = await (await rath.run(twice, rath.session("go"), { limits })).result();
    expect([done.stop, model.asked.length]).toEqual(["budget", 1]);
    expect(() => done.output).toThrow(/nobody knows what is left/);
    const again = new Agent({ name: "a", model, limits });
    expect((await again.forward((await again.forward(rath.session("go"))).say("more"))).stop).toBe("budget");
  });

  test("time: a model that takes too long is stopped, as budget", async () => {
    const slow = scripted({ text: "late", delay: 60_000 });
    const start = performance.now();
    const session = await ask({ model: slow, limits: { time: "50ms" } });
    expect([session.stop, performance.now() - start < 10_000]).toEqual(["budget", true]);
    expect(denied(session)).toMatchObject([{ data: { reason: "budget: the time is over" } }]);
  });

  test("time: begins when the agent does, not when the session was made", async () => {
    let ago = 3_600_000;
    const elapsed = (): number => performance.now() - ago;
    const time = (): string => new Date(Date.now() - ago).toISOString();
    const rath = composeRath({ store: "memory" }, { platform: { ...nodePlatform, time, elapsed } });
    const old = await rath.save(rath.session("go"));
    ago = 0;
    const session = await new Agent({ model: scripted("ok"), limits: { time: "1m" } }).forward(old);
    expect(session.stop).toBe("finished");
  });

  test("time: is over for the second call when the first took it", async () => {
    const rath = composeRath({ store: "memory" }, {});
    const nap = tool({
      name: "nap",
      description: "x",
      input: z.object({}),
      repeat: "safe",
      run: () => new Promise((done) => setTimeout(done, 60, 1)),
    });
    const agent = new Agent({ model: scripted({ calls: [{ tool: "nap", input: {} }] }, "ok"), tools: [nap], limits: { time: "50ms" } });
    const session = await agent.forward(rath.session("go"));
    expect(session.stop).toBe("budget");
    expect(await crossings(session)).toMatchObject([{ limit: "time" }]);
  });

  test.each([
    ["tokens", { tokens: -1 }],
    ["usd", { usd: Number.NaN }],
    ["time", { time: "soon" as never }],
    ["round", { round: 3 } as never],
  ])("a limit that is none is refused by name when the agent is made: %s", (field, limits) => {
    const named = new RegExp(field === "time" ? "soon" : `limits.${field}`);
    expect(() => new Agent({ model: scripted("x"), limits })).toThrow(named);
  });
});

describe("a model that does not say what it took", () => {
  const silent = () => attempts("m", [says("ok", { parts: [{ type: "call", id: "1", tool: "again", input: "{}" }] })], { free: false });
  const again = tool({ name: "again", description: "x", input: z.object({}), repeat: "safe", run: () => 1 });

  test("is asked once where tokens or money are limited, and then no more; elsewhere as often as rounds allow", async () => {
    for (const limits of [{ tokens: 100_000 }, { tokens: 100_000, rounds: 5 }]) {
      const model = silent();
      const session = await ask({ model, tools: [again], limits });
      expect([session.stop, model.asked.length]).toEqual(["budget", 1]);
      expect(JSON.stringify(denied(session).map(({ data }) => data))).toMatch(/without saying how many tokens it took.*includeUsage/);
    }
    const model = silent();
    const session = await ask({ model, tools: [again], limits: { rounds: 3 } });
    expect([session.stop, model.asked.length, session.usage.input]).toEqual(["rounds", 3, 0]);
  });

  test("nor by others under the same limit, also when the run is resumed", async () => {
    const store = sharedStore();
    const model = attempts("m", [says("ok")], { free: false });
    const { nap, naps } = napping();
    const flow = new Flow(async (session) => {
      const first = await session.do("ask", ({ session: inner }) => new Agent({ name: "a", model }).forward(inner).then(() => 1), {
        repeat: "nested",
      });
      return new Agent({ name: "b", model }).forward((await nap(first)).say("more"));
    }, "flow");
    const first = testRath({ store, workflows: { flow } });
    const run = await first.run("flow", first.session("go"), { limits: { tokens: 100_000 } });
    await until("the nap", () => naps() === 1);
    await first.close();
    await using second = testRath({ store, workflows: { flow } });
    const done = await (await second.resume(run.id)).result();
    expect([done.stop, model.asked.length]).toEqual(["budget", 1]);
  });
});

test("what embedding took counts at once, not only when the run is resumed", async () => {
  const { embed, id } = hashEmbedder();
  const embedder = { id, embed: async (...given: Parameters<typeof embed>) => ({ ...(await embed(...given)), tokens: 1000 }) };
  const memory = volatileMemory({ embedder });
  const model = spends(10, 10);
  const flow = new Flow(async (session) => {
    const knowing = await session.remember({ key: "tides", content: "Tides turn at noon" });
    return new Agent({ model, settings: { maxOutputTokens: 100 } }).forward(await knowing.recall("tides"));
  });
  const rath = testRath({ memory });
  const stops = [2000, 4000].map(
    async (tokens) => (await (await rath.run(flow, rath.session("go"), { limits: { tokens } })).result()).stop,
  );
  expect(await Promise.all(stops)).toEqual(["budget", "finished"]);
});

describe("a limit that many share", () => {
  test("ten forks at once never spend more than it, whatever the answers cost", async () => {
    const limit = 1000;
    const rath = testRath({ implicitForks: "error" });
    const model = worst();
    const flow = new Ten(model, { tokens: limit });
    const done = await flow.forward(rath.session("go"));
    const spent = done.usage.input + done.usage.output;
    expect(spent).toBeLessThanOrEqual(limit);
    expect(model.asked.length).toBeGreaterThan(1);
    expect(model.asked.length).toBeLessThan(10);
    // The mutant: the same limit judged on each lineage alone lets all ten through, far above it.
    const lineageOnly = await new Ten(model, undefined, { tokens: limit }).forward(rath.session("go"));
    expect(lineageOnly.usage.input + lineageOnly.usage.output).toBeGreaterThan(limit);
    expect(await crossings(done)).toHaveLength(1);
    expect(String(await replay(done, flow))).toMatch(/^identical/);
  });

  test("also when it is the run's, and in money", async () => {
    const rath = pricedRath({ m: { input: 1, output: 1 } });
    const model = worst({ free: false });
    const limits = { usd: 600e-6 };
    const done = await (await rath.run(new Ten(model), rath.session("go"), { limits })).result();
    expect(done.usage.usd).toBeLessThanOrEqual(600e-6);
    expect(done.usage.usd).toBeGreaterThan(0);
    expect(denied(done).length).toBeGreaterThan(0);
    expect((await crossings(done)).map(({ limit, by }) => [limit, by])).toEqual([["usd", "run"]]);
  });

  test("what a call did not use is there again for the next one", async () => {
    class Twice extends Workflow {
      readonly agent = new Agent({ model: spends(10, 10), settings: { maxOutputTokens: 500 } });
      constructor() {
        super({ tokens: 1000 });
      }
      async forward(session: Session) {
        let at = session;
        for (let n = 0; n < 10; n++) at = await this.agent.forward(at.say("again"));
        return at;
      }
    }
    const done = await new Twice().forward(testRath().session("go"));
    expect([done.stop, done.usage.input]).toEqual(["finished", 100]);
  });

  test("a call that failed or was stopped gives back what was reserved", async () => {
    const failing = attempts("m", [breaks(modelFailed("no", { retryable: false })), says("ok")]);
    class Again extends Workflow {
      readonly agent = new Agent({ model: failing });
      constructor() {
        super({ tokens: 20_000 });
      }
      async forward(session: Session) {
        return this.agent.forward(await this.agent.forward(session));
      }
    }
    expect((await new Again().forward(testRath().session("go"))).stop).toBe("finished");
  });

  test("agents inside tools count towards the limit outside", async () => {
    const inner = new Agent({ name: "inner", model: worst(), settings: { maxOutputTokens: 200 } });
    const nested = inner.asTool({ name: "ask", description: "Asks." });
    const call = { calls: [{ tool: "ask", input: { task: "x".repeat(400) } }], usage: { input: 10, output: 10 } };
    const model = scripted(...Array.from({ length: 30 }, () => call));
    const agent = new Agent({ model, tools: [nested], limits: { tokens: 6000 }, settings: { maxOutputTokens: 100 } });
    const session = await agent.forward(testRath().session("go"));
    expect(session.stop).toBe("budget");
    expect(session.usage.input + session.usage.output).toBeLessThanOrEqual(6000);
    expect(session.usage.input + session.usage.output).toBeGreaterThan(2000);
    // Of the outer agent alone, 6000 would have been enough for all thirty.
    expect(session.usage.own.input + session.usage.own.output).toBeLessThan(1000);
  });
});

describe("rounds that a run allows", () => {
  test("hold for each agent under it; an agent's own do not hold for others", async () => {
    const again = tool({ name: "again", description: "x", input: z.object({}), repeat: "safe", run: () => 1 });
    const looping = (name: string, limits?: Limits) =>
      new Agent({ name, model: scripted(...Array(9).fill({ calls: [{ tool: "again", input: {} }] })), tools: [again], limits });
    class Two extends Workflow {
      readonly agents = [looping("a", { rounds: 2 }), looping("b", { rounds: 7 })];
      async forward(session: Session) {
        let at = session;
        for (const agent of this.agents) at = await agent.forward(at);
        return at;
      }
    }
    const rath = testRath();
    const done = await (await rath.run(new Two(), rath.session("go"), { limits: { rounds: 4 } })).result();
    const asked = [...done.events()].filter(({ kind }) => kind === "model.called").map(({ by }) => by);
    expect([asked.filter((by) => by.endsWith("/a")).length, asked.filter((by) => by.endsWith("/b")).length]).toEqual([2, 4]);
    const outer = new Agent({
      model: scripted({ calls: [{ tool: "ask", input: { task: "x" } }] }),
      tools: [looping("c", { rounds: 5 }).asTool({ name: "ask", description: "x" })],
      limits: { rounds: 1 },
    });
    const nested = await outer.forward(rath.session("go"));
    expect([...nested.events()].filter(({ kind, by }) => kind === "model.called" && by.endsWith("/c"))).toHaveLength(5);
  });
});

describe("limits of a run that is resumed", () => {
  test("nested work that is skipped still counts", async () => {
    const results: (string | undefined)[] = [];
    for (const interrupt of [false, true]) {
      const store = sharedStore();
      const inner = new Agent({ name: "inner", model: worst(), settings: { maxOutputTokens: 200 } });
      const ask = inner.asTool({ name: "ask", description: "Asks." });
      const call = { calls: [{ tool: "ask", input: { task: "x".repeat(400) } }], usage: { input: 10, output: 10 } };
      let thirds = 0;
      const third = () => (++thirds === 1 && interrupt ? { ...call, delay: 600_000 } : call);
      const replies = Array.from({ length: 30 }, (_, n) => (n === 2 ? third : call));
      const flow = new Agent({ model: scripted(...replies), tools: [ask], settings: { maxOutputTokens: 100 } });
      const workflows = { flow };
      const first = testRath({ store, workflows });
      const run = await first.run("flow", first.session("go"), { limits: { tokens: 6000 } });
      if (interrupt) {
        await until("the third call", () => thirds === 1);
        await first.close();
      }
      await using second = interrupt ? testRath({ store, workflows }) : first;
      const done = await (interrupt ? await second.resume(run.id) : run).result();
      expect(done.usage.input + done.usage.output).toBeLessThanOrEqual(6000);
      results.push(`${done.stop} ${done.usage.input} ${done.calls.length}`);
    }
    expect(results[1]).toBe(results[0]);
  });

  test("so does what branches of it took that nothing was made of", async () => {
    const spent: number[] = [];
    for (const interrupt of [false, true]) {
      const store = sharedStore();
      const tries = { a: worst(), b: worst(), c: worst() };
      const agents = Object.entries(tries).map(([name, model]) => [name, new Agent({ name, model, settings: { maxOutputTokens: 200 } })]);
      const three = parallel(Object.fromEntries(agents), best);
      const { nap, naps } = napping(interrupt);
      const flow = new Flow(async (session) => {
        let at = session;
        for (let n = 0; n < 9; n++) {
          at = await at.do("try", ({ session: inner }) => three.forward(inner).then(() => 1), { repeat: "nested", input: n });
          if (n === 1) at = await nap(at);
        }
        return at;
      }, "flow");
      const first = testRath({ store, workflows: { flow } });
      const run = await first.run("flow", first.session("go"), { limits: { tokens: 4000 } });
      if (interrupt) {
        await until("the nap", () => naps() === 1);
        expect(Object.values(tries).map(({ asked }) => asked.length)).toEqual([2, 2, 2]);
        await first.close();
      }
      await using second = interrupt ? testRath({ store, workflows: { flow } }) : first;
      await (interrupt ? await second.resume(run.id) : run).result();
      spent.push(Object.values(tries).reduce((sum, { asked }) => sum + asked.length, 0));
    }
    expect(spent[0]).toBeLessThan(20);
    expect(spent[1]).toBe(spent[0]);
  });

  test("a refusal stays a refusal, and a crossing is told once", async () => {
    const store = sharedStore();
    const model = spends(10, 10);
    const { nap, naps } = napping();
    class Flow extends Workflow {
      readonly poor = new Agent({ model, limits: { tokens: 5 } });
      readonly short = new Agent({ model: scripted({ calls: [{ tool: "none", input: {} }] }), limits: { rounds: 1 } });
      async forward(session: Session) {
        return nap(await this.short.forward((await this.poor.forward(session)).say("more")));
      }
    }
    const workflows = { flow: new Flow() };
    const first = testRath({ store, workflows });
    const run = await first.run("flow", first.session("go"));
    await until("the nap", () => naps() === 1);
    await first.close();
    // Now there would be enough: what was refused is refused.
    await using second = testRath({ store, workflows });
    const done = await (await second.resume(run.id)).result();
    expect([denied(done).length, model.asked.length]).toEqual([1, 0]);
    expect((await crossings(done)).map(({ limit, by }) => `${limit} ${by}`)).toEqual(["tokens flow/poor", "rounds flow/short"]);
  });
});

test("time that is over also ends a tool that hangs", async () => {
  const hang = tool({ name: "hang", description: "Hangs.", input: z.object({}), repeat: "safe", run: () => new Promise(() => {}) });
  const agent = new Agent({
    model: scripted({ calls: [{ tool: "hang", input: {} }] }, "not reached"),
    tools: [hang],
    limits: { time: "60ms" },
  });
  const session = await agent.forward(composeRath({ store: "memory" }, {}).session("go"));
  expect([session.stop, session.calls[0]?.outcome.type]).toEqual(["budget", "error"]);
  expect(String(await replay(session, agent))).toMatch(/^identical/);
});
