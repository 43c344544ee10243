/** Durable runs as people use them: bounded in time, cancelled from anywhere, made good, and started only with what fits. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { nodePlatform } from "../../src/runtime/platform.ts";
import { envelopeOf } from "../../src/session/codec.ts";
import type { EffectContext, Session } from "../../src/session/session.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { Store } from "../../src/store/store.ts";
import { Workflow } from "../../src/workflow/workflow.ts";
import { Flow } from "../support/flow.ts";
import { cut, doomed, never, process, said, stopped, until, working } from "../support/processes.ts";
import { standingClock } from "../support/standing-clock.ts";

afterEach(stopped);

describe("a deadline", () => {
  test("ends a run that is under way, its effects with it", async () => {
    const rath = process(memoryStore());
    let aborted = false;
    const slow = new Flow((session) =>
      session.do("slow", ({ signal }) => {
        signal.addEventListener("abort", () => {
          aborted = true;
        });
        return never();
      }),
    );
    const run = await rath.run(slow, rath.session("x"), { deadline: "60ms" });
    expect(await run.settle()).toMatchObject({ status: "failed", error: { code: "run.deadline" } });
    expect(aborted).toBe(true);
    expect(await run.status()).toBe("failed");
  });

  test("ends a run that waits for a person, and the question with it", async () => {
    const clock = standingClock();
    const rath = process(memoryStore(), {}, {}, clock);
    const run = await rath.run(new Flow((session) => session.ask("May I?")), rath.session("x"), { deadline: new Date(Date.now() + 1300) });
    const settled = await run.settle();
    expect(settled.status).toBe("waiting");
    clock.go();
    await expect(run.result()).rejects.toMatchObject({ code: "run.deadline" });
    expect(await rath.pending()).toEqual([]);
    if (settled.status === "waiting")
      await expect(rath.decide(settled.pending[0]?.id ?? "", { by: "ann", answer: "yes" })).rejects.toMatchObject({
        code: "pending.answered",
      });
  });

  test("that has passed when a worker takes the run ends it without executing it", async () => {
    const store = memoryStore();
    const client = process(store);
    const run = await client.run("x", client.session("x"), { queue: true, deadline: "20ms" });
    await sleep(40);
    let called = false;
    working(
      process(store, {
        workflows: {
          x: new Flow((session) =>
            session.do("x", () => {
              called = true;
            }),
          ),
        },
      }),
    );
    expect(await run.settle()).toMatchObject({ status: "failed", error: { code: "run.deadline" } });
    expect(called).toBe(false);
  });
});

describe("cancelling", () => {
  test("reaches a run that another process executes within a second, and what it does", async () => {
    const store = memoryStore();
    const client = process(store);
    let reason: unknown;
    let began = false;
    const slow = new Flow((session) =>
      session.do("slow", ({ signal }) => {
        began = true;
        return new Promise((_, reject) =>
          signal.addEventListener("abort", () => {
            reason = signal.reason;
            reject(reason);
          }),
        );
      }),
    );
    working(process(store, { workflows: { slow } }));
    const run = await client.run("slow", client.session("x"), { queue: true });
    await until(() => began, "it began");
    const asked = performance.now();
    await run.cancel("changed my mind");
    const settled = await run.settle();
    expect(performance.now() - asked).toBeLessThan(1000);
    expect(settled.status).toBe("cancelled");
    expect(String(reason)).toContain("cancelled");
    const returned = [...settled.session.events()].find(({ kind }) => kind === "do.returned");
    expect(returned?.facts.outcome).toBe("unknown");
    await expect(run.result()).rejects.toMatchObject({ code: "run.cancelled" });
    await expect(run.cancel()).rejects.toMatchObject({ code: "run.ended" });
  });

  test("ends a queued run and a parked one at once, whoever knows their workflow", async () => {
    const store = memoryStore();
    const client = process(store);
    const queued = await client.run("nobody knows", client.session("x"), { queue: true });
    await queued.cancel("not needed");
    expect(await queued.status()).toBe("cancelled");
    const owner = process(store);
    const parked = await owner.run(new Flow((session) => session.ask("May I?")), owner.session("x"));
    await parked.settle();
    await (await client.attach(parked.id)).cancel("too late");
    expect(await parked.status()).toBe("cancelled");
    expect(await owner.pending()).toEqual([]);
  });

  test("outlives whoever asked and whoever was executing", async () => {
    const store = memoryStore();
    const client = process(store);
    const life = cut(store);
    let begun = 0;
    const slow = new Flow((session) =>
      session.do("slow", () => {
        begun++;
        return never();
      }),
    );
    doomed(life.store, { workflows: { slow } });
    const run = await client.run("slow", client.session("x"), { queue: true });
    await until(() => begun === 1, "it began");
    life.cut();
    await run.cancel("stop");
    await client.close();
    const reader = process(store, { workflows: { slow } });
    working(reader);
    expect((await (await reader.attach(run.id)).settle()).status).toBe("cancelled");
    expect(begun).toBe(1);
  });

  test("is made good by onCancel, as a run of its own, exactly once", async () => {
    const store = memoryStore();
    const made: string[] = [];
    class Booking extends Workflow {
      async forward(session: Session) {
        const booked = await session.do("book", () => void made.push("booked"), { repeat: "once" });
        return booked.ask("Pay?");
      }
      async onCancel(session: Session) {
        return session.do(
          "unbook",
          () => void made.push(`unbooked after ${[...session.events()].filter(({ kind }) => kind === "do.returned").length}`),
        );
      }
    }
    const rath = process(store, { workflows: { booking: new Booking() } });
    const run = await rath.run("booking", rath.session("x"));
    await run.settle();
    await run.cancel("no money");
    expect(await run.status()).toBe("cancelled");
    await until(() => made.length === 2, "it was made good");
    expect(made).toEqual(["booked", "unbooked after 1"]);
    const runs = [];
    for await (const one of rath.runs()) runs.push(one);
    expect(runs).toHaveLength(2);
    const good = runs.find(({ id }) => id !== run.id);
    await good?.result();
    expect(await good?.status()).toBe("done");
    expect(good?.session).not.toBe(run.session);
  });

  // Mutant: any key is taken, and whoever has that one first is taken for what makes the run good.
  test("is made good whoever asks for a run with the key that this one has", async () => {
    let undone = 0;
    class Booking extends Workflow {
      async forward(session: Session) {
        return session.ask("Pay?");
      }
      async onCancel(session: Session) {
        return session.do("undo", () => ++undone);
      }
    }
    const rath = process(memoryStore(), { workflows: { booking: new Booking(), other: new Flow(async (session) => session) } });
    const run = await rath.run("booking", rath.session("x"));
    await run.settle();
    const message = expect.stringMatching(/^key is "cancelled .*", which is kept for .* cancelled one good: give another one/);
    await expect(rath.run("other", rath.session("y"), { key: `cancelled ${run.id}` })).rejects.toMatchObject({
      code: "value.unsupported",
      message,
      details: { field: "key" },
    });
    for (const key of ["cancelled order 7", `was cancelled ${run.id}`]) await rath.run("other", rath.session("y"), { key });
    await run.cancel("no");
    await until(() => undone === 1, "it was made good");
  });

  test("made good by another process when the one that cancelled knows only its name", async () => {
    const store = memoryStore();
    let undone = 0;
    class Booking extends Workflow {
      async forward(session: Session) {
        return session.ask("Pay?");
      }
      async onCancel(session: Session) {
        return session.do("undo", () => ++undone);
      }
    }
    const owner = process(store, { workflows: { booking: new Booking() } });
    const run = await owner.run("booking", owner.session("x"));
    await run.settle();
    await owner.close();
    const client = process(store);
    await (await client.attach(run.id)).cancel("no");
    expect(undone).toBe(0);
    working(process(store, { workflows: { booking: new Booking() } }));
    await until(() => undone === 1, "it was made good");
  });

  test("reaches the runs that a run has started", async () => {
    const store = memoryStore();
    const rath = process(store, {
      workflows: { child: new Flow((session) => session.ask("Child?")), parent: new Flow(async (session) => session) },
    });
    let child = "";
    const parent = new Flow(async (session) => {
      const started = await session.do(
        "start",
        async ({ key, session: inner }) => {
          const run = await rath.run("child", inner, { key });
          child = run.id;
          return run.id;
        },
        { repeat: "keyed" },
      );
      return started.ask("Parent?");
    });
    const run = await rath.run(parent, rath.session("x"));
    await run.settle();
    await (await rath.attach(child)).settle();
    await run.cancel("all of it");
    await until(async () => (await (await rath.attach(child)).status()) === "cancelled", "the child was cancelled");
  });
});

describe("a run that another one starts", () => {
  /** The kinds of events of a run's own log that are stored. */
  async function stored(store: Store, run: string): Promise<readonly string[]> {
    const kinds: string[] = [];
    for await (const event of store.events({ session: run })) kinds.push(envelopeOf(nodePlatform, event).kind);
    return kinds;
  }

  // Mutant: it is written with whatever the run around it writes next.
  test("is on record there before it begins", async () => {
    const store = memoryStore();
    const rath = process(store, { workflows: { child: new Flow((session) => session.ask("Child?")) } });
    let seen: readonly string[] = [];
    const parent = new Flow((session) =>
      session.do(
        "start",
        async ({ key, session: inner }) => {
          await rath.run("child", inner, { key });
          for await (const row of store.runs({})) if (row.workflow !== "child") seen = await stored(store, row.id);
        },
        { repeat: "keyed" },
      ),
    );
    await (await rath.run(parent, rath.session("x"))).result();
    expect(seen).toContain("run.spawned");
  });

  // Mutant: whoever tried to start it may cancel it.
  test("is cancelled with the one that started it, and not with one that came too late", async () => {
    const store = memoryStore();
    const rath = process(store, { workflows: { child: new Flow((session) => session.ask("Child?")) } });
    const parent = new Flow(async (session) => {
      const start = ({ session: inner }: EffectContext) =>
        rath.run("child", inner, { key: "the same" }).then(
          ({ id }) => id,
          () => "",
        );
      const started = await session.do("start", start, { repeat: "keyed" });
      return started.ask("Parent?");
    });
    const runs = await Promise.all([rath.run(parent, rath.session("x")), rath.run(parent, rath.session("y"))]);
    const came = await Promise.all(runs.map(async (run) => ({ run, child: (await run.settle()).session.output as string })));
    const first = came.find(({ child }) => child !== "");
    const late = came.find(({ child }) => child === "");
    // Both were about to start it.
    for (const { id } of runs) expect(await stored(store, id)).toContain("run.spawned");
    const child = await rath.attach(first?.child ?? "");
    await child.settle();
    await late?.run.cancel("too late");
    await sleep(50);
    expect(await child.status()).toBe("waiting");
    await first?.run.cancel("all of it");
    await until(async () => (await child.status()) === "cancelled", "the child was cancelled");
  });
});

describe("the input of a workflow", () => {
  class Refund extends Workflow {
    readonly input = z.object({ order: z.string(), cents: z.number().int() });
    async forward(session: Session) {
      return session.do("x", () => this.input.parse(JSON.parse(said(session))).cents);
    }
  }

  test("is checked when it is submitted, and nothing is started with another one", async () => {
    const store = memoryStore();
    const rath = process(store);
    await expect(rath.run(new Refund(), rath.session('{"order":"A1"}'))).rejects.toMatchObject({ code: "run.invalid-input" });
    await expect(rath.run(new Refund(), rath.session("give it back"))).rejects.toMatchObject({ code: "run.invalid-input" });
    await expect(rath.run(new Refund(), rath.session())).rejects.toMatchObject({ code: "run.invalid-input" });
    for await (const _ of rath.runs()) throw new Error("a run was started");
    const run = await rath.run(new Refund(), rath.session('{"order":"A1","cents":120}'));
    expect((await run.result()).output).toBe(120);
  });

  test("may be words, where its schema takes words", async () => {
    class Shout extends Workflow {
      readonly input = z.string().max(5);
      async forward(session: Session) {
        return session.do("x", () => said(session).toUpperCase());
      }
    }
    const rath = process(memoryStore());
    expect((await (await rath.run(new Shout(), rath.session("hi"))).result()).output).toBe("HI");
    expect((await (await rath.run(new Shout(), rath.session("12"))).result()).output).toBe("12");
    await expect(rath.run(new Shout(), rath.session("too long"))).rejects.toThrow(/Shout|input/);
  });
});

describe("a second run on one session", () => {
  test("continues a fork of its own while the first is under way, and the session itself afterwards", async () => {
    const rath = process(memoryStore());
    const start = await rath.save(rath.session("x"));
    let release: () => void = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const slow = new Flow((session) => session.do("slow", () => held));
    const quick = new Flow((session) => session.do("quick", () => 1));
    const first = await rath.run(slow, start);
    const second = await rath.run(quick, start);
    expect(first.session).toBe(start.id);
    expect(second.session).not.toBe(start.id);
    expect((await second.result()).id).toBe(second.session);
    release();
    const done = await first.result();
    expect(done.id).toBe(start.id);
    const third = await rath.run(quick, done);
    expect(third.session).toBe(start.id);
    await third.result();
  });
});
