import { describe, expect, test } from "vitest";
import type { Model, Rath, Session, Settled } from "../../src/index.ts";
import { replay, rerun } from "../../src/index.ts";
import { runtimeOf } from "../../src/runtime/replay.ts";
import { placeOf } from "../../src/session/value.ts";
import { whatOf } from "../../src/session/what.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { type Desk, offline, Team, type TeamModels, task } from "./desk-team.ts";
import { Life, rathOf, World } from "./world.ts";

/** The team in a process that may die before and after every model call, tool and commit. */
function teamOf(life: Life, world: World, delay: () => number = () => 0): { readonly team: Team; readonly desk: Desk } {
  const mortal = (model: string | Model): Model => {
    const { id, free, stream } = model as Model;
    return {
      id,
      free,
      async *stream(request, options) {
        await life.point();
        world.do(`model ${options.by} ${options.session.lineage.label ?? ""} ${options.turn}`);
        const ms = delay();
        if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
        for await (const part of stream.call(model, request, options)) {
          await life.point();
          yield part;
        }
      },
    };
  };
  const models = Object.fromEntries(Object.entries(offline).map(([name, model]) => [name, mortal(model)])) as unknown as TeamModels;
  const desk: Desk = {
    draft: async (_, key) => {
      await life.point();
      world.do(`draft ${key}`);
      await life.point();
    },
    publish: async (code) => {
      await life.point();
      world.do("publish");
      await life.point();
      return `published ${code.length} characters`;
    },
  };
  return { team: new Team(models), desk };
}

const key = "the team";

/** Runs to the end; a person looks at the world to settle what is unknown. */
async function complete(rath: Rath, team: Team, world: World): Promise<Extract<Settled, { status: "done" }>> {
  const run = await rath.run(team, rath.session(task), { key });
  for (;;) {
    const settled = await run.settle();
    if (settled.status === "done") return settled;
    if (settled.status !== "waiting" || settled.diverged !== undefined || settled.pending.length === 0)
      throw new Error(`stuck: ${JSON.stringify(settled)}`);
    for (const pending of settled.pending) {
      if (pending.kind !== "unknown" || pending.op !== "publish") throw new Error(`unexpected ${JSON.stringify(pending)}`);
      const { code } = pending.input as { readonly code: string };
      const outcome = { type: "ok", value: `published ${code.length} characters` } as const;
      await rath.decide(pending.id, { by: "human:test", outcome: world.happened.has("publish") ? outcome : "run-again" });
    }
  }
}

function what(session: Session): string {
  const runtime = runtimeOf(session);
  return whatOf(placeOf(session).node, runtime.platform, (node) => runtime.textOf(node), new Map());
}

async function calm(delay?: () => number): Promise<{ readonly session: Session; readonly points: number; readonly world: World }> {
  const life = new Life();
  const world = new World();
  const { team, desk } = teamOf(life, world, delay);
  const rath = rathOf(memoryStore(), life, { deps: desk });
  const { session } = await complete(rath, team, world);
  return { session, points: life.points, world };
}

/** How often a model was asked, and how many of its answers are on disk. */
function asked(world: World): number {
  return [...world.happened].reduce((sum, [name, count]) => (name.startsWith("model ") ? sum + count : sum), 0);
}
async function answered(store: ReturnType<typeof memoryStore>): Promise<number> {
  let count = 0;
  for await (const row of store.sessions({ log: "session" }))
    for await (const event of store.events({ session: row.id }))
      if (new TextDecoder().decode(event.envelope).includes('"kind":"model.returned"')) count++;
  return count;
}

describe("a team whose tools act outside", () => {
  test("killed before and after every model call, tool and commit, it resumes to the same result and publishes once", async () => {
    const expected = await calm();
    const expectedCalls = asked(expected.world);
    for (let point = 0; point < expected.points; point++) {
      const store = memoryStore();
      const world = new World();
      const life = new Life(point);
      const first = teamOf(life, world);
      const mortal = rathOf(store, life, { deps: first.desk });
      await life.sees(complete(mortal, first.team, world));
      const [askedBefore, answeredBefore] = [asked(world), await answered(store)];
      void mortal.close();
      const second = new Life();
      const heirs = teamOf(second, world);
      const heir = rathOf(store, second, { deps: heirs.desk });
      const { session } = await complete(heir, heirs.team, world);
      expect(world.happened.get("publish"), `killed at ${point}`).toBe(1);
      expect(what(session), `killed at ${point}`).toBe(what(expected.session));
      expect(String(await replay(session, heirs.team)), `killed at ${point}`).toMatch(/^identical/);
      // What had an answer on disk is not asked again.
      expect(asked(world) - expectedCalls, `killed at ${point}`).toBeLessThanOrEqual(askedBefore - answeredBefore);
      await heir.close();
    }
    expect(expected.points).toBeGreaterThan(60);
  }, 120_000);

  test("gives the same what whatever the timing", async () => {
    const expected = what((await calm()).session);
    let seed = 7;
    const delay = (): number => {
      seed = (seed * 1103515245 + 12345) % 2 ** 31;
      return seed % 9;
    };
    for (let shuffle = 0; shuffle < 15; shuffle++) expect(what((await calm(delay)).session)).toBe(expected);
  }, 30_000);

  test("can be looked at, forked and run again from the middle of a nested agent and of a branch", async () => {
    const life = new Life();
    const world = new World();
    const { team, desk } = teamOf(life, world);
    const rath = rathOf(memoryStore(), life, { deps: desk });
    const { session } = await complete(rath, team, world);
    const nested = [...session.events()].find((event) => event.kind === "model.returned" && event.by.endsWith("/ask_expert"));
    const inside = session.at(nested?.id ?? "");
    expect(inside.messages.at(-1)?.text).toMatch(/Normalise to NFD/);
    expect((await inside.request()).messages).toMatchObject([{ role: "user", parts: [{ text: "How do I take accents off letters?" }] }]);
    expect(inside.fork("what if").say("And now?").messages.at(-1)?.text).toBe("And now?");
    const before = world.happened.size;
    const same = await rerun(session, team);
    expect([same.reused, same.session.output]).toEqual([same.of, session.output]);
    expect(world.happened.size).toBe(before);
    const submitted = [...session.events()].find((event) => event.kind === "tool.returned" && event.by === "team/coder");
    const changed = await rerun(session, team, { change: { event: submitted?.id ?? "", output: { characters: 1 } }, effects: "live" });
    expect(changed.reused).toBeGreaterThan(0);
    expect(changed.split?.id).toBeDefined();
  });
});
