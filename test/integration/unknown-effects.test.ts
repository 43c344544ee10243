/** Effects that were started and have no result: nothing goes past one before somebody says what became of it, and that counts once. */
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { Agent, type Rath, type RathError, replay, type Session, scripted, tool } from "../../src/index.ts";
import { OpenEffect } from "../../src/runtime/open-effect.ts";
import type { Settled } from "../../src/runtime/run.ts";
import type { Decision, Pending, Probed } from "../../src/session/session.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { Store } from "../../src/store/store.ts";
import type { Workflow } from "../../src/workflow/workflow.ts";
import { Life, rathOf, World } from "../crash/world.ts";
import { Flow } from "../support/flow.ts";
import { otherProcess, until } from "../support/other-process.ts";

/** Happens, and then the process is killed before it can say so. */
function happens(world: World, name: string, life: Life): Promise<string> | string {
  const count = world.do(name);
  if (life.diesAt !== 0) return `${name} ${count}`;
  life.dead = true;
  return new Promise(() => {});
}

/** Its first `once` effect kills it. */
const doomed = (): Life => new Life(0);
/** Lives on, whatever it does. */
const safe = (): Life => new Life();

class Unlucky {
  readonly store: Store = memoryStore();
  readonly world = new World();
  readonly #flow: (world: World, life: Life) => Workflow;
  id = "";

  constructor(flow: (world: World, life: Life) => Workflow) {
    this.#flow = flow;
  }

  /** A process that starts the run, or takes it up, and dies in its first `once` effect. */
  async dies(): Promise<void> {
    const life = doomed();
    const deadly = new Life(); // the store's own life: it dies when the effect says so
    const rath = rathOf(this.store, deadly, { workflows: { flow: this.#flow(this.world, life) } });
    const run = await (this.id === "" ? rath.run("flow", rath.session("go")) : rath.resume(this.id));
    this.id = run.id;
    await until("its death", () => life.dead);
    deadly.dead = true;
    void rath.close();
  }

  /** Another process, which takes it up. */
  async resumed(): Promise<{ readonly rath: Rath; readonly settle: () => Promise<Settled>; readonly flow: Workflow }> {
    const flow = this.#flow(this.world, safe());
    const rath = rathOf(this.store, new Life(), { workflows: { flow } });
    onTestFinished(() => rath.close());
    const run = await rath.resume(this.id);
    return { rath, settle: () => run.settle(), flow };
  }

  /** What waits once nobody executes it. */
  async unknown(): Promise<Extract<Pending, { kind: "unknown" }>> {
    const { settle, rath } = await this.resumed();
    const settled = await settle();
    await rath.close();
    const pending = settled.status === "waiting" ? settled.pending : [];
    expect(pending.map(({ kind }) => kind)).toEqual(["unknown"]);
    return pending[0] as Extract<Pending, { kind: "unknown" }>;
  }
}

const paying = (): Unlucky =>
  new Unlucky((world, life) => new Flow(async (session) => (await session.do("pay", () => happens(world, "pay", life))).say("paid")));

async function ended(settled: Settled): Promise<unknown> {
  return settled.status === "done" ? settled.session.output : settled.status === "failed" ? settled.error.code : settled.status;
}

describe("a person says what became of it", () => {
  test.each<readonly [string, Extract<Decision, { outcome: unknown }>["outcome"], unknown, number]>([
    ["it happened", { type: "ok", value: "receipt" }, "receipt", 1],
    ["it failed", { type: "error", message: "no money" }, "effect.failed", 1],
    ["it was refused", { type: "denied", reason: "blocked" }, "effect.denied", 1],
    ["it was cancelled", { type: "cancelled", reason: "closed" }, "effect.cancelled", 1],
    ["it came too late", { type: "expired" }, "effect.expired", 1],
    ["it did not happen", "run-again", "pay 2", 2],
  ])("%s, and that is its result", async (_, outcome, expected, times) => {
    const run = paying();
    await run.dies();
    const { id, op } = await run.unknown();
    expect(op).toBe("pay");
    await using other = otherProcess(run.store);
    await other.decide(id, { by: "human:ann", reason: "I looked", outcome });
    const { settle, flow } = await run.resumed();
    const settled = await settle();
    expect([await ended(settled), run.world.happened.get("pay")]).toEqual([expected, times]);
    expect(await other.decision(id)).toMatchObject({ by: "human:ann", reason: "I looked", outcome });
    expect(String(await replay(settled.session, flow))).toMatch(/^identical/);
  });

  test("its own branch waits, the others go on, and nothing comes after it before that", async () => {
    const run = new Unlucky(
      (world, life) =>
        new Flow(async (session) => {
          const step = (at: Session, name: string) => at.do(name, () => world.do(name), { repeat: "safe" });
          const one = session
            .fork("one")
            .do("pay", () => happens(world, "pay", life))
            .then((at) => step(at, "after pay"));
          const two = step(session.fork("two"), "b1")
            .then((at) => (life.diesAt === 0 ? new Promise<Session>(() => {}) : step(at, "b2")))
            .then((at) => step(at, "b3"));
          const [a, b] = await Promise.all([one, two]);
          return a.merge(b);
        }),
    );
    await run.dies();
    expect((await run.unknown()).op).toBe("pay");
    expect([...run.world.happened.keys()].toSorted()).toEqual(["b1", "b2", "b3", "pay"]);
    const { rath, settle } = await run.resumed();
    await rath.decide((await rath.pending())[0]?.id as string, { by: "h", outcome: { type: "ok", value: 1 } });
    expect((await settle()).status).toBe("done");
    expect(run.world.happened.get("pay")).toBe(1);
    expect(run.world.happened.get("after pay")).toBe(1);
  });
});

describe("nothing is resolved twice", () => {
  test("of two who decide at once, one is heard and the other is told", async () => {
    for (const first of ["run-again", { type: "ok", value: "receipt" }] as const) {
      const run = paying();
      await run.dies();
      const { id } = await run.unknown();
      await using a = otherProcess(run.store);
      await using b = otherProcess(run.store);
      const said = await Promise.allSettled([
        a.decide(id, { by: "human:a", outcome: first }),
        b.decide(id, { by: "human:b", outcome: { type: "error", message: "b" } }),
      ]);
      expect(said.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
      expect(said.flatMap((one) => (one.status === "rejected" ? [(one.reason as RathError).code] : []))).toEqual(["pending.answered"]);
      const { settle } = await run.resumed();
      const heard = said[0]?.status === "fulfilled" ? (first === "run-again" ? "pay 2" : "receipt") : "effect.failed";
      expect(await ended(await settle())).toBe(heard);
    }
  });

  test("decided, and then the process dies at any point before the result is on disk", async () => {
    for (const outcome of [{ type: "ok", value: "receipt" }, "run-again"] as const) {
      for (let point = 0; point < 6; point++) {
        const run = paying();
        await run.dies();
        const { id } = await run.unknown();
        await using other = otherProcess(run.store);
        await other.decide(id, { by: "h", outcome });
        const life = new Life(point);
        const flow = new Flow(async (session) => {
          const paid = await session.do("pay", async () => {
            await life.point();
            const count = run.world.do("pay");
            await life.point();
            return `pay ${count}`;
          });
          return paid.say("paid");
        });
        const mortal = rathOf(run.store, life, { workflows: { flow } });
        let over = false;
        const end = (): void => {
          over = true;
        };
        mortal
          .resume(run.id)
          .then((one) => one.settle())
          .then(end, end);
        await until("its end", () => over || life.dead);
        void mortal.close();
        const { rath, settle } = await run.resumed();
        let settled = await settle();
        // It was let run again and died in it: that is another question.
        if (settled.status === "waiting") {
          expect([outcome, settled.pending[0]?.id]).not.toContain(id);
          const happened = run.world.happened.get("pay") === 2;
          await rath.decide(settled.pending[0]?.id as string, {
            by: "h",
            outcome: happened ? { type: "ok", value: "pay 2" } : "run-again",
          });
          settled = await settle();
        }
        expect(await ended(settled), `killed at ${point}`).toBe(outcome === "run-again" ? "pay 2" : "receipt");
        expect(run.world.happened.get("pay")).toBe(outcome === "run-again" ? 2 : 1);
      }
    }
  });

  test("let run again and killed again, it is asked under another id; the old one is refused", async () => {
    const run = paying();
    await run.dies();
    const first = await run.unknown();
    await using other = otherProcess(run.store);
    await other.decide(first.id, { by: "h", outcome: "run-again" });
    await run.dies();
    const second = await run.unknown();
    expect(second.id).not.toBe(first.id);
    const old = other.decide(first.id, { by: "h", outcome: { type: "ok", value: "old" } });
    await expect(old).rejects.toMatchObject({ code: "pending.answered" });
    await other.decide(second.id, { by: "h", outcome: { type: "ok", value: "new" } });
    expect(await ended(await (await run.resumed()).settle())).toBe("new");
    expect(run.world.happened.get("pay")).toBe(2);
  });
});

describe("the tool is asked before a person is", () => {
  /** A tool whose probe says these one after the other. */
  const probing = (...says: readonly (Probed | undefined | "throws")[]): { readonly run: Unlucky; readonly asked: string[] } => {
    const asked: string[] = [];
    const said = [...says];
    const run = new Unlucky((world, life) => {
      const pay = tool({
        name: "pay",
        description: "Pays.",
        input: z.object({}),
        probe: async (key) => {
          asked.push(key);
          const one = said.length > 1 ? said.shift() : said[0];
          if (one === "throws") throw new Error("no line");
          return one as { happened: true; output: string } | undefined;
        },
        run: async () => happens(world, "pay", life),
      });
      return new Flow((session) => session.call(pay, {}));
    });
    return { run, asked };
  };

  test("it happened, with its output", async () => {
    const { run, asked } = probing({ happened: true, output: "receipt" });
    await run.dies();
    const settled = await (await run.resumed()).settle();
    expect([await ended(settled), run.world.happened.get("pay")]).toEqual(["receipt", 1]);
    expect(asked).toEqual([settled.session.calls[0]?.id]);
  });

  test("it did not happen: it is started again", async () => {
    const { run } = probing({ happened: false });
    await run.dies();
    expect(await ended(await (await run.resumed()).settle())).toBe("pay 2");
  });

  test.each<readonly [string, undefined | "throws"]>([
    ["cannot say", undefined],
    ["throws", "throws"],
  ])("one that %s leaves it to a person", async (_, says) => {
    const { run } = probing(says);
    await run.dies();
    const { id } = await run.unknown();
    await using other = otherProcess(run.store);
    await other.decide(id, { by: "h", outcome: { type: "ok", value: "told" } });
    expect([await ended(await (await run.resumed()).settle()), run.world.happened.get("pay")]).toEqual(["told", 1]);
  });

  // Mutant: the probe is asked first whatever was decided.
  test("what a person said stands, although the tool could say more by now", async () => {
    const { run } = probing(undefined, { happened: false });
    await run.dies();
    const { id } = await run.unknown();
    await using other = otherProcess(run.store);
    await other.decide(id, { by: "h", outcome: { type: "ok", value: "told" } });
    expect([await ended(await (await run.resumed()).settle()), run.world.happened.get("pay")]).toEqual(["told", 1]);
  });

  test("started again by its word and killed again, it waits under the new mark alone", async () => {
    const { run: fresh } = probing({ happened: false }, undefined);
    await fresh.dies();
    await fresh.dies();
    const { id, session } = await fresh.unknown();
    await using other = otherProcess(fresh.store);
    const [call] = [...(await other.open(session)).events()].filter(({ kind }) => kind === "tool.called");
    expect(call?.id).not.toBe(id);
    const old = other.decide(call?.id as string, { by: "h", outcome: { type: "ok", value: "old" } });
    await expect(old).rejects.toMatchObject({ code: "pending.answered", message: expect.stringContaining("started since") });
    await other.decide(id, { by: "h", outcome: { type: "ok", value: "new" } });
    expect(await ended(await (await fresh.resumed()).settle())).toBe("new");
  });
});

// Mutant: what is being done counts as unknown, so that an answer given meanwhile is found after a crash.
test("what is being done is not pending and cannot be decided; after a crash it is asked anew", async () => {
  const store = memoryStore();
  const world = new World();
  let begun = 0;
  const flow = new Flow((session) =>
    session.do("pay", () => {
      world.do("pay");
      begun++;
      return new Promise<string>(() => {});
    }),
  );
  const life = new Life();
  const mortal = rathOf(store, life, { workflows: { flow } });
  const run = await mortal.run("flow", mortal.session("go"));
  await until("its beginning", () => begun === 1);
  await using other = otherProcess(store);
  expect(await other.pending({ run: run.id })).toEqual([]);
  const [call] = [...(await other.open(run.session)).events()].filter(({ kind }) => kind === "do.called");
  const early = other.decide(call?.id as string, { by: "h", outcome: "run-again" });
  await expect(early).rejects.toMatchObject({ code: "pending.not-found", message: expect.stringContaining("is being done") });
  life.dead = true;
  void mortal.close();
  await using heir = rathOf(store, new Life(), { workflows: { flow } });
  const settled = await (await heir.resume(run.id)).settle();
  expect([settled.status, settled.status === "waiting" && settled.pending.map(({ id }) => id)]).toEqual(["waiting", [call?.id]]);
  expect(world.happened.get("pay")).toBe(1);
});

describe("a call that waited for its turn and was started", () => {
  test("is unknown, not to be approved", async () => {
    const run = new Unlucky((world, life) => {
      const pay = tool({
        name: "pay",
        description: "Pays.",
        input: z.object({ n: z.number() }),
        resource: () => "purse",
        run: ({ n }) => (n === 1 ? `pay ${world.do("pay 1")}` : happens(world, "pay", life)),
      });
      const calls = [1, 2].map((n) => ({ tool: "pay", input: { n } }));
      return new Agent({ name: "flow", model: scripted({ calls }, "done"), tools: [pay] });
    });
    await run.dies();
    const { id, session } = await run.unknown();
    await using other = otherProcess(run.store);
    const calls = [...(await other.open(session)).events()].filter(({ kind }) => kind === "tool.called");
    for (const { id: called } of calls)
      await expect(other.decide(called, { by: "h", approve: true })).rejects.toMatchObject({ code: "pending.answered" });
    await other.decide(id, { by: "h", outcome: { type: "ok", value: "told" } });
    const settled = await (await run.resumed()).settle();
    expect(settled.session.calls.map(({ outcome }) => outcome)).toMatchObject([{ value: "pay 1" }, { value: "told" }]);
    expect(Object.fromEntries(run.world.happened)).toEqual({ "pay 1": 1, pay: 1 });
  });
});

test("a runtime that goes past an unknown effect by itself is caught", async () => {
  // Mutant: what was started is simply done again.
  const started = Object.getOwnPropertyDescriptor(OpenEffect.prototype, "result") as PropertyDescriptor;
  OpenEffect.prototype.result = function (this: OpenEffect) {
    (this as { effect: object }).effect = { ...this.effect, repeat: "safe" };
    return (started.value as OpenEffect["result"]).call(this);
  };
  try {
    const run = paying();
    await run.dies();
    await (await run.resumed()).settle();
    expect(run.world.happened.get("pay")).toBe(2);
  } finally {
    Object.defineProperty(OpenEffect.prototype, "result", started);
  }
});
