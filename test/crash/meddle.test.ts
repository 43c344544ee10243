/** Somebody else continues the session of a run at any of its commits: the run goes on as a fork, and is replayed and resumed as it was. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { replay } from "../../src/runtime/replay.ts";
import { inside } from "../../src/runtime/services.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { Store } from "../../src/store/store.ts";
import { Flow } from "../support/flow.ts";
import { process, stopped } from "../support/processes.ts";
import { complete, onceNames, toEnd } from "./kill.ts";
import { Generated, programs } from "./program.ts";
import { Life, rathOf, World } from "./world.ts";

const numRuns = Number(globalThis.process.env["MEDDLE_RUNS"] ?? 40);

/** Another process says something to the session just before the n-th commit of a run, counted from 0. */
function meddling(store: Store, id: string, at: number): { readonly store: Store; readonly commits: () => number } {
  const there = process(store);
  let commits = 0;
  const append: Store["append"] = async (write) => {
    if (write.lease !== undefined && commits++ === at) await inside.exit(async () => there.save((await there.open(id)).say("theirs")));
    return store.append(write);
  };
  return { store: { ...store, append }, commits: () => commits };
}

async function begun(): Promise<{ readonly store: Store; readonly id: string }> {
  const store = memoryStore();
  const first = process(store);
  const { id } = await first.save(first.session("go"));
  return { store, id };
}

describe("somebody else continues the session of a run", () => {
  test("at any commit: what it did is done once, and it is replayed", { timeout: 120_000 }, async () => {
    let moved = 0;
    await fc.assert(
      fc.asyncProperty(programs({ races: true, equal: true }), async (program) => {
        for (let at = 0, commits = 1; at < commits; at++) {
          const { store, id } = await begun();
          const disturbed = meddling(store, id, at);
          const world = new World();
          const life = new Life();
          const here = rathOf(disturbed.store, life);
          const workflow = new Generated(program, world, life);
          const ended = await complete(here, workflow, world, await here.open(id));
          commits = disturbed.commits();
          if (ended.session.id !== id) moved++;
          for (const [name, times] of world.happened) expect(times, `${name}, disturbed at ${at}`).toBe(1);
          expect(String(await replay(ended.session, workflow)), `disturbed at ${at}`).toMatch(/^identical/);
          const elsewhere = process(store);
          const opened = await elsewhere.open(ended.session.id);
          expect(opened.head).toBe(ended.session.head);
          await here.close();
          await stopped();
        }
      }),
      { numRuns },
    );
    expect(moved).toBeGreaterThan(numRuns / 4);
  });

  test("and its process dies: another one goes on with it, and is disturbed too", { timeout: 120_000 }, async () => {
    let died = 0;
    const commit = fc.nat(4);
    await fc.assert(
      fc.asyncProperty(programs({ races: true, equal: true }), commit, fc.nat(24), commit, async (program, at, diesAt, again) => {
        const { store, id } = await begun();
        const world = new World();
        const life = new Life(diesAt);
        const mortal = rathOf(meddling(store, id, at).store, life);
        const lived = await life.sees(complete(mortal, new Generated(program, world, life), world, await mortal.open(id)));
        void mortal.close();
        let run: string | undefined;
        for await (const row of store.runs({})) run = row.id;
        if (!lived && run !== undefined) {
          died++;
          const second = new Life();
          const workflow = new Generated(program, world, second);
          const heir = rathOf(meddling(store, id, again).store, second, { workflows: { generated: workflow } });
          const ended = await toEnd(heir, await heir.resume(run), world);
          for (const name of onceNames(program)) expect(world.happened.get(name) ?? 0, name).toBeLessThanOrEqual(1);
          expect(String(await replay(ended.session, workflow))).toMatch(/^identical/);
          await heir.close();
        }
        await stopped();
      }),
      { numRuns: numRuns * 3 },
    );
    expect(died).toBeGreaterThan(numRuns / 4);
  });

  const safe = { repeat: "safe" } as const;
  test.each([
    [
      "with a fork",
      (count: () => number) =>
        new Flow(async (session) => {
          const branch = await session.fork("b").do("inner", count, safe);
          return (await session.merge(branch)).ask("go on?");
        }),
    ],
    [
      "inside an effect",
      (count: () => number) =>
        new Flow((session) =>
          session.do(
            "outer",
            async (context) => {
              const worked = await context.session.do("inner", count, safe);
              await worked.ask("go on?");
              return 1;
            },
            safe,
          ),
        ),
    ],
    [
      "with a detached session",
      (count: () => number) =>
        new Flow(async (session) => {
          const apart = await session.detach().do("inner", count, safe);
          return session.ask(`go on after ${String(apart.output)}?`);
        }),
    ],
  ])("and it waits %s: it parks, and another process goes on with it", async (_, make) => {
    const { store, id } = await begun();
    let calls = 0;
    const flow = make(() => ++calls);
    const here = process(meddling(store, id, 1).store, { workflows: { flow } });
    const run = await here.run(flow, await here.open(id));
    const settled = await run.settle();
    const question = settled.status === "waiting" ? settled.pending[0]?.id : undefined;
    await here.close();
    const other = process(store, { workflows: { flow } });
    await other.decide(question as string, { by: "human:ada", answer: "yes" });
    expect([(await (await other.resume(run.id)).settle()).status, calls]).toEqual(["done", 1]);
    await stopped();
  });
});
