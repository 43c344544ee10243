/** Durable runs as people use them: queued for workers, in order of urgency, cancelled from anywhere, bounded in time, and made good. */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { composeRath, type RathOptions } from "../../src/openrath.ts";
import type { Rath } from "../../src/runtime/rath.ts";
import type { WorkState } from "../../src/runtime/worker.ts";
import type { Session } from "../../src/session/session.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { Store } from "../../src/store/store.ts";
import { Workflow } from "../../src/workflow/workflow.ts";
import { Flow } from "../support/flow.ts";

let processes = 0;
const stops: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

/** Closing a Rath on it leaves the store open. */
function kept(store: Store): Store {
  return { ...store, [Symbol.asyncDispose]: async () => {} };
}

/** A Rath of another process on the same store; it is taken for dead by whoever comes later only if it says so. */
function process(store: Store, options: RathOptions = {}, times: object = {}): Rath {
  const rath = composeRath(
    { implicitForks: "allow", ...options, store: kept(store) },
    {
      worker: `elsewhere-${processes++}:1:${randomUUID().slice(0, 8)}`,
      times: { parkGraceMs: 1, closeMs: 50, stillResumeMs: 200, leaseMs: 400, lookMs: 20, ...times },
    },
  );
  stops.push(() => rath.close());
  return rath;
}

/** A worker that will die: nobody waits for it afterwards. */
function doomed(store: Store, options: RathOptions, times: object = {}): void {
  process(store, options, times)
    .work()
    .catch(() => {});
  stops.pop();
}

/** What was said to a session last. */
function said(session: Session): string {
  return session.messages.at(-1)?.text ?? "";
}

/** Begins to work; gives what ends it. */
function working(rath: Rath, options: { readonly concurrency?: number; readonly drain?: string } = {}): () => Promise<void> {
  const stop = new AbortController();
  const done = rath.work({ ...options, drain: (options.drain ?? "1s") as "1s", signal: stop.signal });
  const end = async (): Promise<void> => {
    stop.abort();
    await done;
  };
  stops.push(end);
  return end;
}

async function until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (let left = 400; !(await holds()); left--) {
    if (left === 0) throw new Error(`it never came to this: ${what}`);
    await sleep(10);
  }
}

const never = (): Promise<never> => new Promise(() => {});

describe("a queued run", () => {
  test("is executed by whoever works on the store and knows its workflow", async () => {
    const store = memoryStore();
    const client = process(store);
    const run = await client.run("double", client.session("21"), { queue: true });
    expect(await run.status()).toBe("queued");
    working(process(store, { workflows: { other: new Flow(async (session) => session) } }));
    await sleep(80);
    expect(await run.status()).toBe("queued");
    working(process(store, { workflows: { double: new Flow((session) => session.do("x", () => Number(said(session)) * 2)) } }));
    expect((await run.result()).output).toBe(42);
    expect(await run.status()).toBe("done");
  });

  test("of higher priority goes first, then the one that waits longest", async () => {
    const store = memoryStore();
    const client = process(store);
    const order: string[] = [];
    const note = new Flow((session) => session.do("note", () => void order.push(said(session))));
    for (const [text, priority] of [
      ["a", 0],
      ["b", 5],
      ["c", undefined],
      ["d", 5],
      ["e", -1],
    ] as const) {
      await client.run("note", client.session(text), { queue: true, ...(priority === undefined ? {} : { priority }) });
      await sleep(3);
    }
    working(process(store, { workflows: { note } }), { concurrency: 1 });
    await until(() => order.length === 5, "all were noted");
    expect(order.join("")).toBe("bdace");
  });

  test("is executed once, by any number of workers, never more at a time than each was told", async () => {
    const store = memoryStore();
    const client = process(store);
    const done: string[] = [];
    const most = new Map<number, number>();
    const flowOf = (worker: number): Flow => {
      let now = 0;
      return new Flow((session) =>
        session.do("count", async () => {
          most.set(worker, Math.max(most.get(worker) ?? 0, ++now));
          await sleep(1);
          now--;
          done.push(session.id);
        }),
      );
    };
    const runs = await Promise.all(Array.from({ length: 60 }, () => client.run("count", client.session("x"), { queue: true })));
    for (const worker of [0, 1, 2]) working(process(store, { workflows: { count: flowOf(worker) } }), { concurrency: 4 });
    await Promise.all(runs.map((run) => run.result()));
    expect(new Set(done).size).toBe(60);
    expect(done.length).toBe(60);
    for (const count of most.values()) expect(count).toBeLessThanOrEqual(4);
  });

  test("that parks holds no worker, and goes on with any of them when it is answered", async () => {
    const store = memoryStore();
    const client = process(store);
    const ask = new Flow((session) => session.ask("May I?"));
    const stop = working(process(store, { workflows: { ask } }), { concurrency: 1 });
    const runs = await Promise.all([1, 2, 3].map(() => client.run("ask", client.session("x"), { queue: true })));
    for (const run of runs) await run.settle();
    await stop();
    working(process(store, { workflows: { ask } }), { concurrency: 1 });
    const pending = await client.pending();
    expect(pending).toHaveLength(3);
    for (const [index, one] of pending.entries()) await client.decide(one.id, { by: "ann", answer: `yes ${index}` });
    const outputs = await Promise.all(runs.map(async (run) => (await run.result()).output));
    expect([...outputs].sort()).toEqual(["yes 0", "yes 1", "yes 2"]);
  });

  test("keeps its timer when every process that knew of it is gone", async () => {
    const store = memoryStore();
    const client = process(store);
    let begun = 0;
    const nap = new Flow(async (session) => {
      begun++;
      return (await session.wait("1200ms")).do("awake", () => "up");
    });
    const stop = working(process(store, { workflows: { nap } }));
    const run = await client.run("nap", client.session("x"), { queue: true });
    expect((await run.settle()).status).toBe("waiting");
    await stop();
    working(process(store, { workflows: { nap } }));
    expect((await run.result()).output).toBe("up");
    expect(begun).toBe(2);
  });

  test("is asked for with an option that exists", async () => {
    const client = process(memoryStore());
    await expect(client.run("x", client.session("x"), { queued: true } as object)).rejects.toMatchObject({ code: "value.unsupported" });
    await expect(client.run("x", client.session("x"))).rejects.toMatchObject({ code: "run.unknown-workflow" });
    await expect(client.run("x", client.session("x"), { queue: true, priority: Number.NaN })).rejects.toMatchObject({
      code: "value.unsupported",
    });
    await expect(client.work({ concurrency: 0 })).rejects.toMatchObject({ code: "value.unsupported" });
    await expect(client.work({ concurency: 1 } as object)).rejects.toMatchObject({ code: "value.unsupported" });
  });
});

describe("a worker", () => {
  test("that dies is followed by another one, which repeats no finished effect", async () => {
    const store = memoryStore();
    const client = process(store);
    const calls: string[] = [];
    const flow = (last: () => Promise<string>): Flow =>
      new Flow(async (session) => {
        const first = await session.do("first", () => void calls.push("first"), { repeat: "once" });
        return first.do("last", last, { repeat: "safe" });
      });
    const life = cut(store);
    doomed(life.store, { workflows: { job: flow(never) } });
    const run = await client.run("job", client.session("x"), { queue: true });
    await until(() => calls.length === 1, "the first effect ran");
    await sleep(20);
    life.cut();
    const began = Date.now();
    working(process(store, { workflows: { job: flow(async () => "done") } }));
    expect((await run.result()).output).toBe("done");
    expect(Date.now() - began).toBeLessThan(2 * 400 + 300);
    expect(calls).toEqual(["first"]);
  });

  test("drains: begins nothing more, lets what is under way end, and leaves the rest for others at once", async () => {
    const store = memoryStore();
    const client = process(store);
    const log: string[] = [];
    let release: () => void = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const job = (wait: Promise<void>): Flow =>
      new Flow(async (session) => {
        const one = await session.do(
          "one",
          async () => {
            log.push("one begins");
            await wait;
            log.push("one ends");
          },
          { repeat: "once" },
        );
        return one.do("two", () => void log.push("two"), { repeat: "once" });
      });
    const states: WorkState[] = [];
    const stop = new AbortController();
    const first = process(store, { workflows: { job: job(held) } }, { leaseMs: 60_000 });
    const done = first.work({ signal: stop.signal, report: (state) => states.push(state) });
    const run = await client.run("job", client.session("x"), { queue: true });
    await until(() => log.length === 1, "it began");
    stop.abort();
    setTimeout(release, 60);
    await done;
    expect(log).toEqual(["one begins", "one ends"]);
    expect(states.map(({ status }) => status)).toContain("draining");
    expect(states.at(-1)).toMatchObject({ status: "stopped", executing: 0, taken: 1 });
    expect(await run.status()).toBe("queued");
    working(process(store, { workflows: { job: job(Promise.resolve()) } }));
    await run.result();
    expect(log).toEqual(["one begins", "one ends", "two"]);
  });

  test("that cannot reach the store goes on trying, and says so once", async () => {
    const store = memoryStore();
    let broken = 3;
    const rough: Store = {
      ...store,
      take: async (...args) => {
        if (broken-- > 0) throw new Error("no route");
        return store.take(...args);
      },
    };
    const states: WorkState[] = [];
    const stop = new AbortController();
    const warnings = warned();
    const rath = process(rough, { workflows: { x: new Flow((session) => session.do("x", () => 1)) } });
    const done = rath.work({ signal: stop.signal, report: (state) => states.push(state) });
    const client = process(store);
    const run = await client.run("x", client.session("x"), { queue: true });
    expect((await run.result()).output).toBe(1);
    stop.abort();
    await done;
    expect(states.some(({ problem }) => problem === "no route")).toBe(true);
    expect(states.at(-1)?.problem).toBeUndefined();
    expect((await warnings()).filter((text) => text.includes("no route"))).toHaveLength(1);
  });

  test("gives up a run that kills its workers, after five of them died without a trace of progress", async () => {
    const store = memoryStore();
    const client = process(store);
    const run = await client.run("bomb", client.session("x"), { queue: true });
    let begun = 0;
    for (let dead = 0; dead < 7 && (await run.status()) !== "failed"; dead++) {
      const life = cut(store);
      const before = begun;
      const bomb = new Flow(() => {
        begun++;
        life.cut();
        return never();
      });
      doomed(life.store, { workflows: { bomb } });
      await until(async () => begun > before || (await run.status()) === "failed", "it was begun or given up");
    }
    expect(begun).toBe(6);
    const settled = await run.settle();
    expect(settled).toMatchObject({ status: "failed", error: { code: "run.poisoned" } });
  });

  test("does not count the deaths of a run that gets further each time", async () => {
    const store = memoryStore();
    const client = process(store);
    const run = await client.run("long", client.session("x"), { queue: true });
    let last = -1;
    for (let dead = 0; dead < 9; dead++) {
      const life = cut(store);
      const long = new Flow(async (session) => {
        let now = session;
        for (let step = 0; step < 9; step++) {
          now = await now.do(`step ${step}`, () => step, { repeat: "safe" });
          if (step <= last) continue;
          if (step < 8) {
            await sleep(20);
            life.cut();
          }
          last = step;
          if (step < 8) await never();
        }
        return now;
      });
      doomed(life.store, { workflows: { long } });
      await until(() => last >= dead, `step ${dead}`);
    }
    expect((await run.result()).output).toBe(8);
  });
});

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
    const store = memoryStore();
    const rath = process(store);
    const run = await rath.run(new Flow((session) => session.ask("May I?")), rath.session("x"), { deadline: new Date(Date.now() + 1300) });
    const settled = await run.settle();
    expect(settled.status).toBe("waiting");
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

/** The store as a process sees it until it dies; afterwards nothing it does arrives, and nothing is ever answered. */
function cut(store: Store): { readonly store: Store; cut(): void } {
  let dead = false;
  const guard =
    <A extends unknown[], R>(method: (...args: A) => Promise<R>) =>
    (...args: A): Promise<R> =>
      dead ? never() : method(...args);
  return {
    store: {
      ...store,
      append: guard(store.append),
      claim: guard(store.claim),
      take: guard(store.take),
      renew: guard(store.renew),
      release: guard(store.release),
      [Symbol.asyncDispose]: async () => {},
    },
    cut: () => {
      dead = true;
    },
  };
}

/** The warnings of this package until it is called. */
function warned(): () => Promise<readonly string[]> {
  const texts: string[] = [];
  const hear = (warning: Error): void => void texts.push(warning.message);
  globalThis.process.on("warning", hear);
  return async () => {
    await sleep(5);
    globalThis.process.off("warning", hear);
    return texts;
  };
}
