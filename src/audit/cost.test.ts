import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Flow } from "../../test/support/flow.ts";
import { Agent } from "../agent/agent.ts";
import { scripted } from "../model/scripted.ts";
import { composeRath } from "../openrath.ts";
import { rerun } from "../runtime/rerun.ts";
import { isReturned } from "../session/event.ts";
import type { Session } from "../session/session.ts";
import { memoryStore } from "../store/memory.ts";
import { type CostBy, type CostSum, cost } from "./cost.ts";
import { lineageEvents } from "./lineage-events.ts";

const fields = ["input", "output", "cached", "cacheWrite", "reasoning", "usd"] as const;
const counted = ["calls", "failed", "reused", "ms"] as const;
const kinds: readonly CostBy[] = ["branch", "agent", "model", "tool", "run"];

function memory() {
  return composeRath({ store: "memory", implicitForks: "allow", prices: { priced: { input: 1_000_000, output: 2_000_000 } } }, {});
}

type Reply = string | { readonly text?: string; readonly calls?: readonly object[]; readonly usage: object };

/** Costs whole dollars, so that sums are exact in any order. */
function priced(...replies: readonly Reply[]) {
  return { ...scripted(...(replies as [])), id: "priced", free: false };
}

const step = fc.record({ type: fc.constantFrom("ask", "nested", "fork", "merge", "do"), on: fc.nat(9), tokens: fc.nat(9) });

async function play(session: Session, steps: readonly { type: string; on: number; tokens: number }[]): Promise<Session> {
  const branches = [session];
  for (const { type, on, tokens } of steps) {
    const index = on % branches.length;
    const at = branches[index] as Session;
    const usage = { input: tokens, output: 1 };
    if (type === "fork") branches.push(at.fork(`branch ${branches.length}`));
    else if (type === "merge") branches[index] = await at.merge(branches[tokens % branches.length] as Session);
    else if (type === "do") branches[index] = await at.do("effect", () => tokens, { repeat: "safe" });
    else {
      const inner = new Agent({ name: "inner", model: priced({ text: "x", usage }) }).asTool({ name: "help", description: "x" });
      const call = { calls: [{ tool: "help", input: { task: "x" } }], usage };
      const agent = new Agent({
        name: `agent ${on % 3}`,
        model: priced(...(type === "ask" ? [] : [call]), { text: "y", usage }),
        tools: [inner],
      });
      branches[index] = await agent.forward(at);
    }
  }
  return branches.at(-1) as Session;
}

describe("cost", () => {
  test("by anything is the sum over distinct events of all branches, and rows and rest make the total", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
        await using rath = memory();
        const session = await play(rath.session("go"), steps);
        const events = (await lineageEvents(session)).filter(({ kind }) => isReturned(kind));
        expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
        for (const by of kinds) {
          const { rows, rest, total } = await cost(session, { by });
          for (const field of fields) {
            expect(total.usage[field]).toBe(events.reduce((sum, { facts }) => sum + (facts.usage?.[field] ?? 0), 0));
            expect([...rows, rest].reduce((sum, row) => sum + row.usage[field], 0)).toBe(total.usage[field]);
          }
          for (const field of counted)
            expect([...rows, rest].reduce((sum, row: CostSum) => sum + row[field], 0)).toBeCloseTo(total[field], 3);
          expect(total.calls).toBe(events.length);
        }
        const ancestors = new Set([...session.events()].map(({ id }) => id));
        const own = events.reduce((sum, { id, facts }) => sum + (ancestors.has(id) ? (facts.usage?.usd ?? 0) : 0), 0);
        expect((await cost(session)).usage.usd).toBe(own);
      }),
      { numRuns: 30 },
    );
  });

  test("of a tool has what was spent inside its calls; of models and agents, each its own", async () => {
    await using rath = memory();
    const session = await play(rath.session("go"), [{ type: "nested", on: 0, tokens: 3 }]);
    const byTool = await cost(session, { by: "tool" });
    expect(byTool.rows).toMatchObject([{ name: "help", calls: 1, usage: { input: 3, output: 1, usd: 5 } }]);
    expect(byTool.rest.usage).toMatchObject({ input: 6, output: 2, usd: 10 });
    expect((await cost(session, { by: "model" })).rows).toMatchObject([{ name: "priced", calls: 3, usage: { usd: 15 } }]);
    const agents = (await cost(session, { by: "agent" })).rows.map(({ name, usage }) => [name, usage.usd]);
    expect(new Map(agents as [string, number][])).toEqual(
      new Map([
        ["agent 0", 10],
        ["agent 0/inner", 5],
      ]),
    );
    await expect(cost(session, { by: "colour" as CostBy })).rejects.toMatchObject({ code: "value.unsupported" });
  });

  test("does not pay reused results twice, and says how many there were", async () => {
    await using rath = memory();
    const flow = new Flow((session) =>
      new Agent({ name: "one", model: priced({ text: "x", usage: { input: 4, output: 1 } }) }).forward(session),
    );
    const done = await flow.forward(rath.session("go"));
    const again = await rerun(done, flow);
    const found = await cost(again.session, { by: "model" });
    expect(found).toMatchObject({ rows: [{ calls: 2, reused: 1, usage: { usd: 6 } }], total: { usage: { usd: 6 } } });
  });

  test("says where a run was cut off and with whom it went on", async () => {
    let now = Date.now();
    const store = { ...memoryStore({ clock: () => now }), [Symbol.asyncDispose]: async () => {} };
    let [begun, tries] = [() => {}, 0];
    const hanging = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const slow = new Flow((session) =>
      session.do(
        "slow",
        () => {
          if (tries++ > 0) return "done";
          begun();
          return new Promise<never>(() => {});
        },
        { repeat: "safe" },
      ),
    );
    const rathOf = (worker: string) => composeRath({ store, workflows: { slow } }, { worker });
    const [first, second] = [rathOf("first"), rathOf("second")];
    const run = await first.run("slow", first.session("go"));
    await hanging;
    now += 60_000; // its lease has run out
    const { session } = await (await second.resume(run.id)).settle();
    const { interrupted } = await cost(session);
    expect(interrupted).toMatchObject([{ run: run.id, worker: "second", abandoned: true }]);
    expect(String(await cost(session))).toContain("was cut off");
    await Promise.allSettled([second.close(), first.close()]);
  });

  test("says where a budget was crossed", async () => {
    await using rath = memory();
    const flow = new Flow((session) =>
      new Agent({
        name: "spender",
        model: priced({ calls: [{ tool: "none", input: {} }], usage: { input: 1, output: 1 } }, "never"),
        limits: { rounds: 1 },
      }).forward(session),
    );
    const done = await flow.forward(rath.session("go"));
    const { crossed, interrupted } = await cost(done);
    expect(crossed).toMatchObject([{ limit: "rounds", of: 1, by: "flow/spender" }]);
    expect(interrupted).toEqual([]);
    expect(String(await cost(done))).toContain("limit reached");
  });
});
