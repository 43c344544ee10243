import { describe, expect, test } from "vitest";
import { z } from "zod";
import { Agent, type Model, type Rath, replay, Selector, type Session, scripted, tool, Workflow } from "../../src/index.ts";
import type { Script } from "../../src/model/scripted.ts";
import { runtimeOf } from "../../src/runtime/replay.ts";
import { placeOf } from "../../src/session/value.ts";
import { whatOf } from "../../src/session/what.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { Life, rathOf, World } from "./world.ts";

const usage = { input: 40, output: 4 };
const calls = (name: string, input: unknown = {}) => ({ calls: [{ tool: name, input }], usage }) as const;

/** Every part of an agent that can be left in the middle, in one workflow; tools and models of a process that may die. */
class Sink extends Workflow {
  readonly first: Agent;
  readonly typed: Agent<{ readonly n: number }>;
  readonly team: Selector;

  constructor(life: Life, world: World) {
    super({ tokens: 1_000_000 });
    const mortal = (...replies: readonly Script[]): Model => {
      const model = scripted(...replies);
      return {
        id: "mortal",
        free: true,
        async *stream(request, options) {
          await life.point();
          for await (const part of model.stream(request, options)) {
            await life.point();
            yield part;
          }
        },
      };
    };
    const pay = tool({
      name: "pay",
      description: "Pays.",
      input: z.object({ to: z.string() }),
      needsApproval: true,
      run: async ({ to }) => {
        await life.point();
        world.do(`pay ${to}`);
        await life.point();
        return `paid ${to}`;
      },
    });
    const ship = tool({
      name: "ship",
      description: "Ships.",
      input: z.object({ n: z.number() }),
      resource: () => "dock",
      run: async ({ n }) => {
        await life.point();
        world.do(`ship ${n}`);
        await life.point();
        return n;
      },
    });
    const inner = new Agent({
      name: "inner",
      description: "Nested.",
      model: mortal(calls("pay", { to: "inner" }), { text: "nested done", usage }),
      tools: [pay],
    });
    const second = new Agent({
      name: "second",
      description: "Gets it.",
      model: mortal({ calls: [1, 2, 3].map((n) => ({ tool: "ship", input: { n } })), usage }, { text: "second done", usage }),
      tools: [ship],
    });
    this.first = new Agent({
      name: "first",
      model: mortal(
        { ...calls("ask_inner", { task: "go" }), fail: "server" },
        {
          calls: [
            { tool: "pay", input: { to: "a" } },
            { tool: "pay", input: { to: "b" } },
          ],
          usage,
        },
        calls("transfer_to_second"),
      ),
      tools: [pay, inner.asTool({ name: "ask_inner" })],
      handoffs: [second],
      instructions: async () => {
        await life.point();
        return "Go.";
      },
      hooks: {
        beforeModel: ({ instructions, ...rest }) => ({ ...rest, instructions: `${instructions} Hooked.` }),
        beforeTool: ({ tool: name, input }) => (name === "pay" ? { input: { to: `${(input as { to: string }).to}!` } } : undefined),
        // Not for what a person may have to tell the outcome of.
        afterTool: ({ tool: name, outcome }) =>
          outcome.type === "ok" && name !== "pay" ? { value: `${String(outcome.value)}.` } : undefined,
      },
    });
    this.typed = new Agent({
      name: "typed",
      description: "Typed.",
      model: mortal("no JSON", { text: '{"n":"x"}', usage }, { text: '{"n":1}', usage }),
      output: z.object({ n: z.number() }),
    });
    this.team = new Selector({
      choices: { typed: this.typed },
      choose: mortal({ output: { choice: "typed", reason: "r" }, usage }, "neither", { output: { choice: "done", reason: "d" }, usage }),
    });
  }

  async forward(session: Session) {
    const left = await this.first.forward(session.fork("left"));
    const right = await this.team.forward(session.fork("right"));
    return left.merge([right]);
  }
}

function what(session: Session): string {
  const runtime = runtimeOf(session);
  return whatOf(placeOf(session).node, runtime.platform, (node) => runtime.textOf(node), new Map());
}

async function complete(rath: Rath, sink: Sink, world: World): Promise<Session> {
  const run = await rath.run(sink, rath.session("go"), { key: "sink" });
  for (;;) {
    const settled = await run.settle();
    if (settled.status === "done") return settled.session;
    if (settled.status !== "waiting" || settled.diverged !== undefined || settled.pending.length === 0)
      throw new Error(`stuck: ${JSON.stringify(settled)} ${settled.status === "failed" ? settled.error.stack : ""}`);
    for (const pending of settled.pending) {
      if (pending.kind === "approval") await rath.decide(pending.id, { by: "human:test", approve: true }).catch(answered);
      else if (pending.kind === "unknown") {
        const input = pending.input as { readonly to?: string; readonly n?: number };
        const name = pending.op === "pay" ? `pay ${input.to}` : `ship ${input.n}`;
        const value = pending.op === "pay" ? `paid ${input.to}` : input.n;
        // A person looks at the world.
        const outcome = world.happened.has(name) ? ({ type: "ok", value } as const) : ("run-again" as const);
        await rath.decide(pending.id, { by: "human:test", outcome }).catch(answered);
      } else throw new Error(`unexpected ${JSON.stringify(pending)}`);
    }
  }
}
function answered(error: unknown): void {
  if ((error as { readonly code?: string }).code !== "pending.answered") throw error;
}

describe("an agent left in the middle of anything", () => {
  test("goes on to the same result, and does each thing once", async () => {
    const calm = new Life();
    const world = new World();
    const sink = new Sink(calm, world);
    const rath = rathOf(memoryStore(), calm);
    const expected = await complete(rath, sink, world);
    const done = new Map([...world.happened].map(([name]) => [name, 1]));
    expect(world.happened).toEqual(done);
    expect(String(await replay(expected, sink))).toMatch(/^identical/);
    for (let point = 0; point < calm.points; point++) {
      const store = memoryStore();
      const there = new World();
      const life = new Life(point);
      const mortal = rathOf(store, life);
      await life.sees(complete(mortal, new Sink(life, there), there));
      void mortal.close().catch(() => {});
      const second = new Life();
      const heirs = new Sink(second, there);
      const heir = rathOf(store, second);
      const session = await complete(heir, heirs, there);
      expect(there.happened, `killed at ${point}`).toEqual(done);
      expect(what(session), `killed at ${point}`).toBe(what(expected));
      expect(String(await replay(session, heirs)), `killed at ${point}`).toMatch(/^identical/);
      await heir.close();
    }
  }, 120_000);
});
