/** What was spent, over any forks and merges: totals are the sum of the rows, each once. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Agent } from "../../src/agent/agent.ts";
import { scripted } from "../../src/model/scripted.ts";
import { composeRath } from "../../src/openrath.ts";
import type { Session, Totals } from "../../src/session/session.ts";

const fields = ["input", "output", "cached", "cacheWrite", "reasoning", "usd"] as const;

/** One step of a program over a growing list of branches; numbers choose among those there are. */
const step = fc.oneof(
  fc.record({ type: fc.constant("ask" as const), on: fc.nat(20), input: fc.nat(1000), output: fc.nat(100) }),
  fc.record({ type: fc.constant("nested" as const), on: fc.nat(20), input: fc.nat(1000), output: fc.nat(100) }),
  fc.record({ type: fc.constant("fork" as const), on: fc.nat(20) }),
  fc.record({ type: fc.constant("detach" as const), on: fc.nat(20) }),
  fc.record({ type: fc.constant("merge" as const), on: fc.nat(20), with: fc.uniqueArray(fc.nat(20), { minLength: 1, maxLength: 3 }) }),
);

function sum(rows: Iterable<Partial<Totals> | undefined>): Totals {
  const total = { input: 0, output: 0, cached: 0, cacheWrite: 0, reasoning: 0, usd: 0 };
  for (const row of rows) for (const field of fields) total[field] += row?.[field] ?? 0;
  return total;
}

describe("usage", () => {
  test("is the sum over distinct ancestors, and own that of the branch", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
        await using rath = composeRath({ store: "memory", implicitForks: "allow" }, {});
        const branches: Session[] = [rath.session("go")];
        for (const one of steps) {
          const index = one.on % branches.length;
          const at = branches[index] as Session;
          if (one.type === "fork") branches.push(at.fork());
          else if (one.type === "detach") branches.push(at.detach());
          else if (one.type === "merge") branches[index] = await at.merge(one.with.map((n) => branches[n % branches.length] as Session));
          else {
            const usage = { input: one.input, output: one.output };
            const inner = new Agent({ name: "inner", model: scripted({ text: "x", usage }) });
            const help = inner.asTool({ name: "help", description: "x" });
            const call = { calls: [{ tool: "help", input: { task: "x" } }], usage: { input: 1, output: 1 } };
            const name = `agent-${branches.length}-${at.step}`;
            const agent =
              one.type === "ask"
                ? new Agent({ name, model: scripted({ text: "x", usage }) })
                : new Agent({ name, model: scripted(call, { text: "y", usage: { input: 2, output: 2 } }), tools: [help] });
            branches[index] = await agent.forward(at);
          }
        }
        for (const session of branches) {
          const events = [...session.events()];
          expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
          const { own, ...total } = session.usage;
          expect(total).toEqual(sum(events.map(({ facts }) => facts.usage)));
          expect(own).toEqual(sum(events.filter((event) => event.session === session.id).map(({ facts }) => facts.usage)));
          // The same after it was stored and read by somebody else.
          await rath.save(session);
          expect((await rath.open(session.id)).usage).toEqual(session.usage);
        }
      }),
      { numRuns: 60 },
    );
  });
});
