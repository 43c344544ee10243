/** One limit over a run and everything under it: reserved before the spend, so that what was spent never exceeds it. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { Agent, type Model, type Rath, replay, type Session, scripted, tool } from "../../src/index.ts";
import { budgetOf } from "../../src/runtime/budget.ts";
import { Runtime } from "../../src/runtime/runtime.ts";
import type { Limits } from "../../src/session/session.ts";
import { placeOf, SessionValue } from "../../src/session/value.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { Life, rathOf } from "../crash/world.ts";
import { Flow } from "../support/flow.ts";
import { until } from "../support/other-process.ts";

/** One fork: how long an answer it wants, how much of what it is given it uses, how slow it is, and how deep it works. */
interface Spender {
  readonly wants: number;
  readonly uses: number;
  readonly turns: number;
  readonly rounds: number;
  readonly by: "itself" | "a tool" | "a workflow" | "an effect";
}

const price = { input: 3, output: 12 };
const prices = { "bank/big": price };

/** A model that keeps to the length it is given; what it really cost is counted. */
function spending(spender: Spender, life: Life, spent: { tokens: number; usd: number }): Model {
  return {
    id: "bank/big",
    async *stream(request, { turn }) {
      await life.point();
      for (let n = 0; n < spender.turns; n++) await new Promise((resolve) => setImmediate(resolve));
      const input = Math.floor(JSON.stringify(request.messages).length / 4);
      const output = Math.floor((request.settings.maxOutputTokens ?? 0) * spender.uses);
      spent.tokens += input + output;
      spent.usd += (input * price.input + output * price.output) / 1e6;
      await life.point();
      const parts =
        turn + 1 < spender.rounds
          ? [{ type: "call" as const, id: `c${turn}`, tool: "look", input: "{}" }]
          : [{ type: "text" as const, text: "done" }];
      const usage = { input, output, cached: 0, cacheWrite: 0, reasoning: 0 };
      yield { type: "reply", reply: { parts, finish: turn + 1 < spender.rounds ? "calls" : "stop", usage } };
    },
  };
}

const look = tool({ name: "look", description: "Looks.", input: z.object({}), repeat: "safe", writes: "nothing", run: () => "seen" });

/** All of them at once against one limit, joined at the end. */
function market(spenders: readonly Spender[], life: Life, spent = { tokens: 0, usd: 0 }): Flow {
  const agents = spenders.map(
    (spender, n) =>
      new Agent({
        name: `a${n}`,
        model: spending(spender, life, spent),
        tools: [look],
        settings: { maxOutputTokens: spender.wants },
        retry: { attempts: 1 },
      }),
  );
  const flow = new Flow(async (session) => {
    const ends = await Promise.all(
      spenders.map(async ({ by }, n) => {
        const agent = agents[n] as Agent;
        const branch = session.fork(`f${n}`);
        switch (by) {
          case "itself":
            return agent.forward(branch);
          case "a tool": {
            const used = agent.asTool({ name: "helper", description: "Helps." });
            return branch.call(used, { task: "go" } as never).catch((error: { session: Session }) => error.session);
          }
          case "a workflow":
            return new Flow((inner) => agent.forward(inner), `w${n}`).forward(branch);
          case "an effect":
            return branch.do("work", async ({ session: inner }) => (await agent.forward(inner)).stop ?? "none", { repeat: "nested" });
        }
      }),
    );
    return (ends[0] as Session).merge(ends.slice(1));
  }, "market");
  return flow;
}

const spender: fc.Arbitrary<Spender> = fc.record({
  wants: fc.integer({ min: 16, max: 300 }),
  uses: fc.constantFrom(0.1, 0.5, 1),
  turns: fc.integer({ min: 0, max: 4 }),
  rounds: fc.integer({ min: 1, max: 2 }),
  by: fc.constantFrom("itself", "a tool", "a workflow", "an effect"),
});
const ten = fc.array(spender, { minLength: 10, maxLength: 10 });

const within = ({ tokens, usd }: Limits, spent: { readonly tokens: number; readonly usd: number }): boolean =>
  spent.tokens <= (tokens ?? Number.POSITIVE_INFINITY) && spent.usd <= (usd ?? Number.POSITIVE_INFINITY) + 1e-12;

const spentOf = ({ usage }: Session): { readonly tokens: number; readonly usd: number } => ({
  tokens: usage.input + usage.output,
  usd: usage.usd,
});

async function run(spenders: readonly Spender[], limits: Limits) {
  const spent = { tokens: 0, usd: 0 };
  const flow = market(spenders, new Life(), spent);
  const rath = rathOf(memoryStore(), new Life(), { prices, workflows: { market: flow } });
  const session = await (await rath.run("market", rath.session("Go."), { limits })).result();
  const refused = [...session.events()].filter(({ kind, facts }) => kind === "model.returned" && facts.outcome === "denied");
  return { rath, flow, session, spent, refused };
}

describe("ten forks against one limit", () => {
  test.each<readonly [string, fc.Arbitrary<Limits>]>([
    ["of tokens", fc.integer({ min: 300, max: 4000 }).map((tokens) => ({ tokens }))],
    ["of money", fc.integer({ min: 3, max: 40 }).map((thousandths) => ({ usd: thousandths / 1000 }))],
  ])("%s never exceed it together, whatever each costs and however they come", { timeout: 60_000 }, async (_, limit) => {
    let refusals = 0;
    await fc.assert(
      fc.asyncProperty(ten, limit, async (spenders, limits) => {
        const { rath, flow, session, spent, refused } = await run(spenders, limits);
        expect(within(limits, spent)).toBe(true);
        expect(spentOf(session).tokens).toBe(spent.tokens);
        expect(spentOf(session).usd).toBeCloseTo(spent.usd, 12);
        refusals += refused.length;
        for (const { data } of refused) expect((data as { reason: string }).reason).toMatch(/^budget: /);
        expect(String(await replay(session, flow))).toMatch(/^identical/);
        expect(within(limits, spent)).toBe(true);
        await rath.close();
      }),
      { numRuns: 25 },
    );
    expect(refusals).toBeGreaterThan(20);
  });

  // Mutant: each fork looks at its own lineage alone.
  test("a limit that each fork holds by itself is exceeded, and caught", async () => {
    const { fork } = Runtime.prototype;
    Runtime.prototype.fork = function (session, label) {
      const { node, context } = placeOf(fork.call(this, session, label));
      const own = context.budgets?.map(({ limits }) => {
        const budget = budgetOf(context.execution as never, limits, node.at, "fork");
        budget.count(session.usage);
        return budget;
      });
      return new SessionValue(node, { ...context, budgets: own });
    };
    try {
      const result = await fc.check(
        fc.asyncProperty(ten, async (spenders) => {
          const { rath, spent } = await run(spenders, { tokens: 1500 });
          await rath.close();
          expect(within({ tokens: 1500 }, spent)).toBe(true);
        }),
        { numRuns: 300, endOnFailure: true },
      );
      expect(result.failed).toBe(true);
    } finally {
      Runtime.prototype.fork = fork;
    }
  });
});

describe("a run with a limit that is killed and taken up", () => {
  const spenders: readonly Spender[] = (["itself", "a tool", "a workflow", "an effect", "itself"] as const).map((by, n) => ({
    wants: 150,
    uses: 1,
    turns: n,
    rounds: 1 + (n % 2),
    by,
  }));
  const limits = { tokens: 1200 };

  test("at any point stays within it, and what was refused stays refused", { timeout: 60_000 }, async () => {
    const calm = new Life();
    const whole = market(spenders, calm);
    const first = rathOf(memoryStore(), calm, { prices });
    const ended = await (await first.run(whole, first.session("Go."), { limits })).result();
    expect(spentOf(ended).tokens).toBeLessThanOrEqual(1200);
    await first.close();
    let refusedBefore = 0;
    for (let point = 2; point < calm.points; point++) {
      const store = memoryStore();
      const life = new Life(point);
      const mortal = rathOf(store, life, { prices });
      let over = false;
      const end = (): void => {
        over = true;
      };
      mortal
        .run(market(spenders, life), mortal.session("Go."), { limits, key: "k" })
        .then((started) => started.settle())
        .then(end, end);
      await until("its end", () => over || life.dead);
      void mortal.close();
      const before = await denied(rathOf(store, new Life()));
      const flow = market(spenders, new Life());
      const heir = rathOf(store, new Life(), { prices, workflows: { market: flow } });
      const session = await (await heir.run(flow, heir.session("Go."), { limits, key: "k" })).result();
      expect(spentOf(session).tokens, `killed at ${point}`).toBeLessThanOrEqual(1200);
      const after = new Set([...session.events()].map(({ id }) => id));
      expect(before.filter((id) => !after.has(id))).toEqual([]);
      refusedBefore += before.length;
      expect(String(await replay(session, flow))).toMatch(/^identical/);
      await heir.close();
    }
    expect(refusedBefore).toBeGreaterThan(0);
  });

  /** Refusals on disk. */
  async function denied(rath: Rath): Promise<string[]> {
    const ids: string[] = [];
    for await (const session of rath.sessions())
      for (const { id, kind, facts } of session.events()) if (kind === "model.returned" && facts.outcome === "denied") ids.push(id);
    await rath.close();
    return [...new Set(ids)];
  }

  /** Spends in an effect, which is then lost with its process; what the next one may still spend. */
  async function leftAfter(repeat: "once" | "keyed"): Promise<readonly [spent: number, recorded: number]> {
    const store = memoryStore();
    const spent = { tokens: 0, usd: 0 };
    const big: Spender = { wants: 400, uses: 1, turns: 0, rounds: 1, by: "itself" };
    const flow = (life: Life, dies: boolean) => {
      const agent = () => new Agent({ name: "a", model: spending(big, life, spent), settings: { maxOutputTokens: 400 } });
      let attempt = 0;
      const work = tool({
        name: "work",
        description: "Works.",
        input: z.object({}),
        repeat,
        retry: { attempts: 2 },
        run: async (_, { session }) => {
          attempt++;
          // What may not be repeated is on disk before it starts, and all before it.
          const said = await (await agent().forward(session)).do("mark", () => attempt);
          if (repeat === "keyed" && dies && attempt === 1) throw new Error("once more");
          if (dies) {
            life.dead = true;
            await new Promise(() => {});
          }
          return String(said.output);
        },
      });
      return new Flow(async (session) => {
        const worked = await session.call(work, {}).catch((error: { session: Session }) => error.session);
        return agent().forward(worked);
      }, "flow");
    };
    const life = new Life();
    const mortal = rathOf(store, life, { prices });
    const started = await mortal.run(flow(life, true), mortal.session("Go."), { limits: { tokens: 700 } });
    await until("its death", () => life.dead);
    void mortal.close();
    const heir = rathOf(store, new Life(), { prices, workflows: { flow: flow(new Life(), false) } });
    const resumed = await heir.resume(started.id);
    const settled = await resumed.settle();
    if (settled.status === "waiting")
      for (const { id } of settled.pending) await heir.decide(id, { by: "h", outcome: { type: "ok", value: "worked" } });
    const session = await resumed.result();
    await heir.close();
    return [spent.tokens, spentOf(session).tokens];
  }

  test("counts what was spent inside an effect whose outcome nobody knew", async () => {
    const [spent, recorded] = await leftAfter("once");
    expect(spent).toBeLessThanOrEqual(700);
    expect(recorded).toBe(spent);
  });

  test("counts what was spent in an attempt that failed before", async () => {
    const [spent, recorded] = await leftAfter("keyed");
    expect(spent).toBeLessThanOrEqual(700);
    expect(recorded).toBe(spent);
  });
});

describe("money that is limited", () => {
  const asked = (id: string, usage: { input: number; output: number }, count: string[]): Model => ({
    id,
    async *stream() {
      count.push(id);
      yield {
        type: "reply",
        reply: { parts: [{ type: "text", text: "ok" }], finish: "stop", usage: { ...usage, cached: 0, cacheWrite: 0, reasoning: 0 } },
      };
    },
  });

  test("a model without a known price is not asked; a scripted one costs nothing, with one dollar or none", async () => {
    const count: string[] = [];
    const rath = rathOf(memoryStore(), new Life());
    const dear = new Agent({ name: "dear", model: asked("some/where", { input: 1, output: 1 }, count) });
    const refused = await (await rath.run(dear, rath.session("Go."), { limits: { usd: 1 } })).result();
    expect([refused.stop, count]).toEqual(["budget", []]);
    const free = new Agent({ name: "free", model: scripted("done") });
    for (const usd of [1, 0]) {
      const session = await (await rath.run(free, rath.session("Go."), { limits: { usd } })).result();
      expect([session.stop, session.usage.usd]).toEqual(["finished", 0]);
    }
    await rath.close();
  });

  test("where one of several models may answer, the dearest of each part is reserved", async () => {
    const rates = { "bank/reads": { input: 10, output: 1 }, "bank/writes": { input: 1, output: 11 } };
    const count: string[] = [];
    const rath = rathOf(memoryStore(), new Life(), { prices: rates });
    const text = "x".repeat(2000);
    const models = [asked("bank/reads", { input: 2000, output: 10 }, count), asked("bank/writes", { input: 2000, output: 10 }, count)];
    const agent = new Agent({ name: "a", model: models, settings: { maxOutputTokens: 100 } });
    const usd = 0.015;
    const session = await (await rath.run(agent, rath.session(text), { limits: { usd } })).result();
    expect(session.usage.usd).toBeLessThanOrEqual(usd);
    expect([session.stop, count]).toEqual(["budget", []]);
    await rath.close();
  });

  test("a model whose answers are free is refused when what it reads costs too much", async () => {
    const count: string[] = [];
    const rath = rathOf(memoryStore(), new Life(), { prices: { "bank/reader": { input: 1000, output: 0 } } });
    const agent = new Agent({ name: "a", model: asked("bank/reader", { input: 50, output: 10 }, count) });
    const refused = await (await rath.run(agent, rath.session("x".repeat(100)), { limits: { usd: 0.01 } })).result();
    expect([refused.stop, refused.usage.usd, count]).toEqual(["budget", 0, []]);
    const allowed = await (await rath.run(agent, rath.session("x".repeat(100)), { limits: { usd: 1 } })).result();
    expect([allowed.stop, allowed.usage.usd]).toEqual(["finished", 0.05]);
    await rath.close();
  });
});
