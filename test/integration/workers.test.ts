/** Workers: they take queued runs in order of urgency, follow each other when they die, drain, and give up what kills them. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import type { WorkState } from "../../src/runtime/worker.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { Lease, Store } from "../../src/store/store.ts";
import { Flow } from "../support/flow.ts";
import { cut, doomed, never, process, said, stopped, until, warned, working } from "../support/processes.ts";
import { recorded } from "../support/said.ts";
import { standingClock } from "../support/standing-clock.ts";

afterEach(stopped);

/** A store that takes longer to read than events wait to be written. */
function slowly(store: Store): Store {
  return {
    ...store,
    events: async function* (query) {
      await sleep(10);
      yield* store.events(query);
    },
  };
}

describe("an effect that must not happen twice", () => {
  test("happens when the work ends while its call is being written: nobody has to say whether it did", async () => {
    const store = memoryStore();
    let [written, arrive] = [false, (): void => {}];
    const arrived = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    const slow: Store = {
      ...store,
      append: async (write) => {
        const texts = write.branches.flatMap(({ events }) => events.map(({ envelope }) => Buffer.from(envelope).toString()));
        written ||= texts.some((text) => text.includes('"kind":"do.called"'));
        if (written) await arrived;
        return store.append(write);
      },
    };
    let acted = 0;
    const flow = (): Flow => new Flow((session) => session.do("pay", () => ++acted));
    const end = working(process(slow, { workflows: { pay: flow() } }));
    const client = process(store, { workflows: { pay: flow() } });
    const run = await client.run("pay", client.session("x"), { queue: true });
    await until(() => written, "its call is being written");
    const ended = end();
    await sleep(30); // it looks whether anything is under way
    arrive();
    await ended;
    expect(acted).toBe(1);
    working(client);
    expect((await run.result()).output).toBe(1);
    expect(acted).toBe(1);
  });

  test("does not begin when the word that its intent is written comes after somebody else took the run over", async () => {
    const store = memoryStore();
    let away = false;
    let back = (): void => {};
    const returned = new Promise<void>((resolve) => {
      back = resolve;
    });
    // What it writes arrives; what it is told comes late.
    const late = async <T>(answer: Promise<T>): Promise<T> => {
      const value = await answer;
      if (away) await returned;
      return value;
    };
    let acted = 0;
    const flow = (): Flow => new Flow((session) => session.do("pay", () => ++acted));
    const slow: Store = {
      ...store,
      append: async (write) => {
        const texts = write.branches.flatMap(({ events }) => events.map(({ envelope }) => Buffer.from(envelope).toString()));
        if (texts.some((text) => text.includes('"kind":"do.called"'))) away = true;
        return late(store.append(write));
      },
      renew: async (lease, forMs) =>
        away ? late(Promise.resolve(lease)).then(() => store.renew(lease, forMs)) : store.renew(lease, forMs),
    };
    const tuned = { leaseMs: 100 };
    doomed(slow, { workflows: { pay: flow() } }, tuned);
    const client = process(store, { workflows: { pay: flow() } }, tuned);
    const run = await client.run("pay", client.session("x"), { queue: true });
    await until(() => away, "its intent is written");
    working(client);
    await until(
      async () => (await client.pending({ run: run.id })).some(({ kind }) => kind === "unknown"),
      "nobody knows whether it happened",
    );
    back();
    await sleep(50);
    expect(acted).toBe(0);
    const [unknown] = await client.pending({ run: run.id });
    await client.decide(unknown?.id ?? "", { by: "human:a", outcome: "run-again" });
    expect((await run.result()).output).toBe(1);
    expect(acted).toBe(1);
  });
});

describe("a worker that is told to stop", () => {
  test("does not begin what it has just announced: the run may be somebody else's by then", async () => {
    const store = memoryStore();
    let acted = 0;
    let [announced, told] = [false, (): void => {}];
    const go = new Promise<void>((resolve) => {
      told = resolve;
    });
    const slow: Store = {
      ...store,
      append: async (write) => {
        const written = await store.append(write);
        const texts = write.branches.flatMap(({ events }) => events.map(({ envelope }) => Buffer.from(envelope).toString()));
        if (!announced && texts.some((text) => text.includes('"kind":"do.called"'))) {
          announced = true;
          await go;
        }
        return written;
      },
    };
    const flow = (): Flow => new Flow((session) => session.do("pay", () => ++acted));
    const client = process(store, { workflows: { pay: flow() } });
    const run = await client.run("pay", client.session("x"), { queue: true });
    const stop = working(process(slow, { workflows: { pay: flow() } }), { drain: "0s" });
    await until(() => announced, "its intent is written");
    const stopped = stop();
    await sleep(20);
    told();
    await stopped;
    expect(acted).toBe(0);
    working(client);
    await until(async () => (await client.pending({ run: run.id })).length > 0, "nobody knows whether it happened");
    const [unknown] = await client.pending({ run: run.id });
    await client.decide(unknown?.id ?? "", { by: "human:a", outcome: "run-again" });
    expect((await run.result()).output).toBe(1);
  });
});

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
    const clock = standingClock();
    const stop = working(process(store, { workflows: { nap } }, {}, clock));
    const run = await client.run("nap", client.session("x"), { queue: true });
    expect((await run.settle()).status).toBe("waiting");
    clock.go();
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
    await until(async () => (await recorded(store, "do.returned")) === 1, "the first effect ran");
    life.cut();
    const began = Date.now();
    working(process(store, { workflows: { job: flow(async () => "done") } }));
    expect((await run.result()).output).toBe("done");
    expect(Date.now() - began).toBeLessThan(5 * 400);
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
        if (broken-- > 0) throw new Error("There is no route.");
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
    expect(states.some(({ problem }) => problem === "There is no route.")).toBe(true);
    expect(states.at(-1)?.problem).toBeUndefined();
    // Mutant: a full stop behind that of the problem.
    expect((await warnings()).filter((text) => text.includes("no route"))).toEqual([
      expect.stringMatching(/ cannot look for work: There is no route\. It goes on trying\.$/),
    ]);
  });

  test("gives up a run that kills its workers, after so many of them died without a trace of progress", async () => {
    const store = memoryStore();
    const client = process(store);
    const run = await client.run("bomb", client.session("x"), { queue: true });
    let begun = 0;
    const times: number[] = [];
    const tuned = { leaseMs: 60, deaths: 5 };
    for (let dead = 0; dead < 10 && (await run.status()) !== "failed"; dead++) {
      const life = cut(store);
      const before = begun;
      // Once it has taken it up it holds the run until it dies, however slow the machine is; and not for long then.
      let lease: Lease | undefined;
      const append: Store["append"] = async (write) => {
        const written = await life.store.append(write);
        if (written.ok && write.lease !== undefined) lease = await life.store.renew(write.lease, 60_000);
        return written;
      };
      const renew: Store["renew"] = (given) => life.store.renew(given, 60_000);
      const bomb = new Flow(() => {
        times[begun++] = performance.now();
        life.cut();
        if (lease !== undefined) void store.renew(lease, tuned.leaseMs);
        return never();
      });
      doomed(slowly({ ...life.store, append, renew }), { workflows: { bomb } }, tuned);
      await until(async () => begun > before || (await run.status()) === "failed", "it was begun or given up");
    }
    expect(begun).toBe(6);
    let takenUp = 0;
    for await (const { envelope } of store.events({ session: run.id }))
      if (Buffer.from(envelope).toString().includes('"kind":"run.resumed"')) takenUp++;
    // To be left alone is no death, and one more takes it up to end it.
    expect(takenUp).toBe(begun + 1);
    // It is left alone longer each time, so that it does not end one worker after the other.
    expect((times[5] as number) - (times[4] as number)).toBeGreaterThan(4 * tuned.leaseMs);
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
            await until(async () => (await recorded(store, "do.returned")) > step, "it is on record");
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
