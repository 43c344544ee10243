/** The same program under other delays: every branch says the same. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { Agent } from "../../src/agent/agent.ts";
import { Selector } from "../../src/agent/selector.ts";
import { scripted } from "../../src/model/scripted.ts";
import { composeRath } from "../../src/openrath.ts";
import type { Rath } from "../../src/runtime/rath.ts";
import { replay } from "../../src/runtime/replay.ts";
import type { Runtime } from "../../src/runtime/runtime.ts";
import type { Session } from "../../src/session/session.ts";
import { placeOf } from "../../src/session/value.ts";
import { whatOf } from "../../src/session/what.ts";
import { tool } from "../../src/tool/tool.ts";
import { best, loop, parallel, sequence } from "../../src/workflow/combinators.ts";
import type { Workflow } from "../../src/workflow/workflow.ts";
import { sharedStore } from "../support/shared-store.ts";

/** What happened up to a place, apart from who, when and under which ids. */
function what(session: Session): string {
  const { node, context } = placeOf(session);
  const runtime = context.host as Runtime;
  return whatOf(node, runtime.platform, (at) => runtime.textOf(at), new Map());
}

/** Delays that are the same for the same seed. */
function shuffler(seed: number): () => number {
  let state = seed * 2654435761 + 1;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state % 7;
  };
}

/** What each branch came to: the final one, and every labelled one under its label. */
async function outcome(rath: Rath, done: Session): Promise<Record<string, string>> {
  const found: Record<string, string> = { final: what(done) };
  for await (const session of rath.sessions()) if (session.lineage.label !== undefined) found[session.lineage.label] = what(session);
  return found;
}

async function differences(make: (delay: () => number) => Workflow, runs = 20): Promise<Record<string, string>[]> {
  const seen = new Map<string, Record<string, string>>();
  for (let seed = 0; seed < runs; seed++) {
    const rath = composeRath({ store: "memory", implicitForks: "error" }, {});
    const flow = make(shuffler(seed));
    const done = await flow.forward(rath.session("go"));
    if (seed % 5 === 0) expect(String(await replay(done, flow))).toMatch(/^identical/);
    const found = await outcome(rath, done);
    seen.set(JSON.stringify(found), found);
    await rath.close();
  }
  return [...seen.values()];
}

describe("whatever takes how long", () => {
  /** Three calls in one batch, each as long as chance will have it. */
  const batch = (delay: () => number) => {
    const work = tool({
      name: "work",
      description: "x",
      input: z.object({ n: z.number() }),
      repeat: "safe",
      run: ({ n }) => new Promise((resolve) => setTimeout(resolve, delay(), n)),
    });
    const calls = [1, 2, 3].map((n) => ({ tool: "work", input: { n } }));
    return new Agent({ model: scripted({ text: "Working. ", calls, delay: delay() }, { text: "done", delay: delay() }), tools: [work] });
  };

  test("calls in one batch", async () => {
    expect(await differences(batch)).toHaveLength(1);
  });

  const joined = (delay: () => number): Workflow =>
    sequence(
      parallel(
        {
          a: sequence(batch(delay), (session) => session.check("tests", () => ({ passed: true, score: 1 }))),
          b: sequence(batch(delay), (session) => session.check("tests", () => ({ passed: true, score: 2 }))),
        },
        best,
      ),
      new Agent({ name: "last", model: scripted({ text: "end", delay: delay() }) }),
    );
  const routed = (delay: () => number): Workflow => {
    const helper = new Agent({ name: "helper", model: scripted({ text: "helped", delay: delay() }) });
    const help = helper.asTool({ name: "help", description: "Helps." });
    const calls = ["x", "y"].map((task) => ({ tool: "help", input: { task } }));
    const boss = new Agent({ name: "boss", description: "Leads.", model: scripted({ calls, delay: delay() }, "led"), tools: [help] });
    const choose = scripted((_, session) => ({
      output: { choice: session.routes.length === 0 ? "boss" : "done", reason: "" },
      delay: delay(),
    }));
    const team = new Selector({ choices: { boss }, choose });
    const turns = new Agent({ model: scripted({ text: "1", delay: delay() }, "2") });
    const looped = loop(turns, { until: (session) => session.text === "2", max: 3 });
    return parallel({ team, looped }, async ([one, two]) => (one as Session).merge(two as Session));
  };

  test("two forks with batches, judged and joined, and what follows", async () => {
    const found = await differences(joined);
    expect(found).toHaveLength(1);
    expect(Object.keys(found[0] ?? {}).sort()).toEqual(["a", "b", "final"]);
  });

  test("merges, loops, nested agents and routes", async () => {
    expect(await differences(routed)).toHaveLength(1);
  });

  test.each([
    ["joined", joined],
    ["routed", routed],
  ])("and wherever it was interrupted: %s", async (_, make) => {
    const seen = new Set<string>();
    for (let stage = 0; stage < 14; stage++) {
      const store = sharedStore();
      const opened = (): Rath => composeRath({ store, implicitForks: "error", workflows: { flow: make(shuffler(stage)) } }, {});
      const first = opened();
      const run = await first.run("flow", first.session("go"));
      if (stage > 0) {
        await new Promise((resolve) => setTimeout(resolve, stage * 2));
        await first.close();
      }
      const second = stage > 0 ? opened() : first;
      const done = await (stage > 0 ? await second.resume(run.id) : run).result();
      seen.add(JSON.stringify(await outcome(second, done)));
      expect(String(await replay(done, make(shuffler(99))))).toMatch(/^identical/);
      await second.close();
    }
    expect(seen.size).toBe(1);
  });

  test("and the comparison can fail: another value, another order of calls, another label is another what", async () => {
    const outcomes = new Set<string>();
    for (const [label, values] of [
      ["a", [1, 2]],
      ["a", [1, 3]],
      ["a", [2, 1]],
      ["b", [1, 2]],
    ] as const) {
      const rath = composeRath({ store: "memory" }, {});
      const give = tool({ name: "give", description: "x", input: z.object({ n: z.number() }), repeat: "safe", run: ({ n }) => n });
      const calls = values.map((n) => ({ tool: "give", input: { n } }));
      const done = await new Agent({ model: scripted({ calls }, "x"), tools: [give] }).forward(rath.session("go").fork(label));
      outcomes.add(what(done));
    }
    expect(outcomes.size).toBe(4);
  });
});
