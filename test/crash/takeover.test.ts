/** One fault at a time, made to happen: what only the epoch, the intent, the id of a question or shared blobs can save. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { composeRath } from "../../src/openrath.ts";
import type { Rath } from "../../src/runtime/rath.ts";
import type { Settled } from "../../src/runtime/run.ts";
import type { Run } from "../../src/runtime/run-handle.ts";
import type { Store } from "../../src/store/store.ts";
import { ownPostgres } from "../support/postgres.ts";
import { Fleet, type Worker } from "./fleet.ts";
import { answerTo } from "./orders.ts";
import { Witness } from "./witness.ts";
import { questions } from "./worker-flows.ts";
import { keyBeside, type Mutant, openWorkerStore, type WorkerPlan } from "./worker-plan.ts";

let folder: string;
let scenes = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-takeover-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Scene extends AsyncDisposable {
  readonly rath: Rath;
  readonly store: Store;
  readonly witness: Witness;
  readonly plan: WorkerPlan;
  fleet(change?: Partial<WorkerPlan>): Fleet;
}

/** A store and a witness of its own, and whoever starts and decides. */
async function scene(leaseMs = 500, shared?: string): Promise<Scene> {
  const place = join(folder, `${scenes++}`);
  const plan: WorkerPlan = {
    store: shared ?? `${place}.db`,
    witness: `${place}.witness`,
    concurrency: 4,
    lulls: 0,
    lullMs: 300,
    times: { leaseMs, lookMs: 40, parkGraceMs: 5 },
  };
  const store = await openWorkerStore(plan);
  const rath = composeRath({ store, implicitForks: "allow" }, { openKey: async () => keyBeside(plan) });
  const fleets: Fleet[] = [];
  return {
    rath,
    store,
    plan,
    witness: new Witness(plan.witness),
    fleet: (change = {}) => {
      const fleet = new Fleet({ ...plan, ...change });
      fleets.push(fleet);
      return fleet;
    },
    [Symbol.asyncDispose]: async () => {
      for (const fleet of fleets) await fleet[Symbol.asyncDispose]();
      await rath.close();
    },
  };
}

async function ended(run: Run, forMs = 20_000): Promise<Settled> {
  for (const start = performance.now(); performance.now() - start < forMs; await pause(20))
    if (["done", "failed", "cancelled"].includes(await run.status())) return run.settle();
  throw new Error(`run ${run.id} is ${await run.status()} after ${forMs} ms`);
}

function times({ witness }: Scene, effect: string, how: "begun" | "once" = "once"): number {
  return witness.acts().filter((act) => act.effect === effect && act.how === how).length;
}

describe("a worker that wakes after its run was taken over", () => {
  /** Frozen just before it appends to a fork that whoever took the run over has not written to yet. */
  async function zombie(mutant?: Mutant): Promise<{ readonly second: number; readonly fenced: number }> {
    await using on = await scene();
    const at = '"name":"second"';
    // Long enough to be frozen in time on a busy machine, and over when it wakes.
    const first = on.fleet({ lullAt: at, lullMs: 900, mutant });
    await first.start(1);
    const run = await on.rath.run("side", on.rath.session("x"), { queue: true });
    const asleep = (await first.next("LULL", 15_000)) as Worker;
    asleep.freeze();
    const second = on.fleet({ lullAt: at, lullMs: 1500, times: { ...on.plan.times, leaseMs: 6000 } });
    await second.start(1);
    // What it had done last was not written yet.
    for (let status = ""; status !== "waiting"; status = await run.status()) {
      if (status === "done") return zombie(mutant); // it was frozen too late
      await pause(20);
    }
    const [unknown] = await on.rath.pending({ run: run.id });
    const lulled = second.next("LULL", 15_000);
    await on.rath.decide(unknown?.id ?? "", { by: "human:test", outcome: { type: "ok", value: "first x" } });
    await lulled;
    asleep.thaw();
    await ended(run).catch(() => {}); // of the mutants nothing is expected but what the witness saw
    await pause(mutant === undefined ? 0 : 500);
    return { second: times(on, "second", "begun"), fenced: first.heard.fenced };
  }

  test("cannot write to a fork that nobody has written to since, and does not begin", { timeout: 60_000 }, async () => {
    expect(await zombie()).toEqual({ second: 1, fenced: 1 });
  });

  // On a busy machine it may wake too late to be first: then nothing is seen, and it is tried again.
  test.each(["no fencing", "epoch per branch"] as const)(
    "begins a second time with %s (mutant)",
    { timeout: 60_000, retry: 3 },
    async (mutant) => {
      expect((await zombie(mutant)).second).toBe(2);
    },
  );
});

describe("a worker that dies in an effect that may not be repeated", () => {
  async function dies(mutant?: Mutant): Promise<{ readonly acted: number; readonly unknown: number }> {
    await using on = await scene();
    const fleet = on.fleet({ mutant });
    await fleet.start(1);
    const run = await on.rath.run("pay", on.rath.session("x"), { queue: true });
    let unknown = 0;
    for (let status = ""; status !== "done"; status = await run.status()) {
      await fleet.mend(1);
      for (const pending of status === "waiting" ? await on.rath.pending({ run: run.id }) : []) {
        unknown++;
        await on.rath.decide(pending.id, { by: "human:test", outcome: { type: "ok", value: "paid" } });
      }
      await pause(20);
    }
    return { acted: times(on, "pay"), unknown };
  }

  test("leaves its intent behind: a person is asked, and it happened once", { timeout: 60_000 }, async () => {
    expect(await dies()).toEqual({ acted: 1, unknown: 1 });
  });

  test("does it again without a person where no intent is written (mutant)", { timeout: 60_000 }, async () => {
    expect(await dies("no intent")).toEqual({ acted: 2, unknown: 0 });
  });
});

describe("a run that kills its workers", () => {
  test("is given up after so many of them, left alone longer each time", { timeout: 90_000 }, async () => {
    await using on = await scene(300);
    const fleet = on.fleet({ times: { ...on.plan.times, deaths: 4 } });
    await fleet.start(1);
    const run = await on.rath.run("poison", on.rath.session("x"), { queue: true });
    for (; (await run.status()) !== "failed"; await pause(20)) await fleet.mend(1);
    expect(await run.settle()).toMatchObject({ status: "failed", error: { code: "run.poisoned" } });
    expect(fleet.casualties.length).toBe(5);
  });
});

describe("a run whose worker was killed", () => {
  test.each(["SQLite", "PostgreSQL"])(
    "goes on within twice the lease, and finds its files where only %s is shared",
    { timeout: 60_000 },
    async (kind) => {
      const leaseMs = Number(process.env["TAKEOVER_LEASE_MS"] ?? 2000);
      await using server = kind === "PostgreSQL" ? await ownPostgres() : undefined;
      await using on = await scene(leaseMs, server?.url);
      const [first, second] = [on.fleet({ home: join(folder, `${kind} a`) }), on.fleet({ home: join(folder, `${kind} b`) })];
      await first.start(1);
      const run = await on.rath.run("files", on.rath.session("x"), { queue: true });
      while (!on.witness.acts().some(({ effect }) => effect === "linger")) await pause(20);
      const [dying] = first.working;
      await second.start(1);
      const taken = second.next("TAKEN", leaseMs * 4);
      await dying?.kill();
      const killed = performance.now();
      expect(await taken).toBeDefined();
      const took = performance.now() - killed;
      console.log(`taken over ${Math.round(took)} ms after the kill, with a lease of ${leaseMs} ms`);
      expect(took).toBeLessThan(2 * leaseMs);
      expect(await ended(run)).toMatchObject({ status: "done", session: { output: `plan of ${dying?.child.pid}` } });
    },
  );
});

describe("questions that many answer at once", () => {
  /** Two people with a list each, in another order; `choose` says what is decided under. */
  async function answered(choose: (on: Scene, run: Run, index: number) => Promise<string | undefined>): Promise<unknown> {
    await using on = await scene();
    const fleet = on.fleet();
    await fleet.start(2);
    const run = await on.rath.run("questions", on.rath.session("x"), { queue: true });
    while ((await run.status()) !== "waiting") await pause(20);
    const order = questions.map((_, index) => (index * 7) % questions.length);
    const person = async (mine: readonly number[]): Promise<void> => {
      for (const index of mine) {
        const id = await choose(on, run, index);
        if (id !== undefined) await on.rath.decide(id, { by: "human:test", answer: answerTo(questions[index] as string) }).catch(() => {});
      }
    };
    await Promise.all([person(order.filter((_, at) => at % 2 === 0)), person(order.filter((_, at) => at % 2 === 1).reverse())]);
    const left = await on.rath.pending({ run: run.id });
    for (const { id } of left) await on.rath.decide(id, { by: "human:test", answer: "late" });
    const settled = await ended(run);
    return settled.session.output;
  }
  const expected = questions.map(answerTo);

  test("get each its own answer", { timeout: 60_000 }, async () => {
    const byId = async (on: Scene, run: Run, index: number): Promise<string | undefined> =>
      (await on.rath.pending({ run: run.id })).find((one) => one.kind === "question" && one.question === questions[index])?.id;
    expect(await answered(byId)).toEqual(expected);
  });

  test("get each other's where a decision goes by position (mutant)", { timeout: 60_000 }, async () => {
    const byPosition = async (on: Scene, run: Run, index: number): Promise<string | undefined> =>
      (await on.rath.pending({ run: run.id }))[index]?.id;
    expect(await answered(byPosition)).not.toEqual(expected);
  });
});
