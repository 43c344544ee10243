import { describe, expect, test } from "vitest";
import { z } from "zod";
import { Agent, type Model, openrath, parallel, replay, type Session, scripted, tool } from "../../src/index.ts";
import { testRath } from "../../src/testing/testing.ts";
import { stored } from "../support/bundles.ts";

const look = tool({
  name: "look",
  description: "Looks.",
  input: z.object({ at: z.string() }),
  repeat: "safe",
  run: ({ at }) => `saw ${at}`,
});
const calls = (...at: readonly string[]) => ({ calls: at.map((one) => ({ tool: "look", input: { at: one } })) });

describe("limits", () => {
  test("a call that would cross one is not made; the crossing and the refusal are on record, and replay finds the same", async () => {
    await using rath = testRath();
    let asked = 0;
    const reply = () => (++asked === 1 ? { ...calls("a"), usage: { input: 300, output: 90 } } : "never");
    const agent = new Agent({ name: "poor", model: scripted(reply, reply), tools: [look], limits: { tokens: 400 } });
    const session = await agent.forward(rath.session("Go."));
    expect([session.stop, session.usage.input + session.usage.output]).toEqual(["budget", 390]);
    const crossed = (await stored(session)).filter(({ envelope }) => envelope["kind"] === "budget.crossed");
    expect(crossed.map(({ data }) => data)).toEqual([{ by: "poor", limit: "tokens", of: 400, spent: 390 }]);
    expect(String(await replay(session, agent))).toMatch(/^identical/);
    expect(asked).toBe(1);
  });

  test("ten forks against one limit never exceed it together", async () => {
    await using rath = testRath();
    const spends: Model = {
      id: "spends",
      free: true,
      async *stream({ settings }) {
        await new Promise((resolve) => setTimeout(resolve, 5));
        const output = settings.maxOutputTokens ?? 0;
        yield {
          type: "reply",
          reply: {
            parts: [{ type: "text", text: "x" }],
            finish: "stop",
            usage: { input: 60, output, cached: 0, cacheWrite: 0, reasoning: 0 },
          },
        };
      },
    };
    const labels = Array.from({ length: 10 }, (_, index) => `f${index}`);
    const agent = new Agent({ name: "spender", model: spends, settings: { maxOutputTokens: 150 } });
    const flow = parallel(Object.fromEntries(labels.map((label) => [label, agent])), async ([first, ...others]) =>
      (first as Session).merge(others),
    );
    const run = await rath.run(flow, rath.session("Go."), { limits: { tokens: 700 } });
    const session = await run.result();
    expect(session.usage.input + session.usage.output).toBeLessThanOrEqual(700);
    const asked = [...session.events()].flatMap((event) => (event.kind === "model.returned" ? [event.facts.outcome] : []));
    expect([asked.length, new Set(asked)]).toEqual([10, new Set(["ok", "denied"])]);
  });

  test("a time that is over, before a call or during it, is on record in milliseconds", async () => {
    await using rath = openrath({ store: "memory" });
    const silent: Model = {
      id: "silent",
      free: true,
      async *stream(_, { signal }) {
        await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      },
    };
    const rest = tool({
      name: "rest",
      description: "Rests.",
      input: z.object({}),
      repeat: "safe",
      run: () => new Promise((done) => setTimeout(done, 80)),
    });
    const during = new Agent({ name: "during", model: silent, limits: { time: "0.04s" } });
    const before = new Agent({
      name: "before",
      model: scripted({ calls: [{ tool: "rest", input: {} }] }, "late"),
      tools: [rest],
      limits: { time: "0.04s" },
    });
    for (const agent of [during, before]) {
      const session = await agent.forward(rath.session("Go."));
      expect(session.stop).toBe("budget");
      const crossed = (await stored(session)).filter(({ envelope }) => envelope["kind"] === "budget.crossed");
      expect(crossed.map(({ data }) => data)).toMatchObject([{ by: agent.name, limit: "time", of: 40 }]);
      expect(crossed[0]?.data["spent"]).toBeGreaterThanOrEqual(40);
    }
  });

  test("where money is limited, a model whose price is not known is not asked; a known price is kept with the reply", async () => {
    const priced: Model = {
      id: "studio/one",
      async *stream() {
        const usage = { input: 1000, output: 100, cached: 200, cacheWrite: 0, reasoning: 0 };
        yield { type: "reply", reply: { parts: [{ type: "text", text: "ok" }], finish: "stop", usage } };
      },
    };
    const agent = new Agent({ model: priced, limits: { usd: 1 } });
    await using poor = testRath();
    const refused = await agent.forward(poor.session("Go."));
    expect([refused.stop, refused.usage.input]).toEqual(["budget", 0]);
    await using rath = testRath({ prices: { "studio/one": { input: 2, output: 10, cached: 1 } } });
    const session = await agent.forward(rath.session("Go."));
    expect(session.usage.usd).toBeCloseTo((800 * 2 + 200 * 1 + 100 * 10) / 1e6, 12);
    const returned = [...session.events()].find((event) => event.kind === "model.returned");
    expect(returned?.kind === "model.returned" && returned.data.price).toMatchObject({ table: "own", input: 2, output: 10, cached: 1 });
  });
});
