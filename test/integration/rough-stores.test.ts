/** Stores that are slow, shared or faulty, and what a run makes of them: nothing twice, nothing lost, and a record that verifies. */

import { describe, expect, test } from "vitest";
import { verify } from "../../src/audit/verify.ts";
import { composeRath } from "../../src/openrath.ts";
import type { RathOptions } from "../../src/rath-options.ts";
import type { Rath } from "../../src/runtime/rath.ts";
import { replay } from "../../src/runtime/replay.ts";
import { rerun } from "../../src/runtime/rerun.ts";
import type { Session } from "../../src/session/session.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { Store, Write, Written } from "../../src/store/store.ts";
import { machine } from "../../src/workspace/machine.ts";
import { Flow } from "../support/flow.ts";
import { standingClock } from "../support/standing-clock.ts";

let processes = 0;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** The same store with some of its methods replaced; disposing it leaves the store open. */
function like(store: Store, changed: Partial<Store> = {}): Store {
  return { ...store, ...changed, [Symbol.asyncDispose]: async () => {} };
}

function slow(store: Store, ms: number): Store {
  return like(store, {
    append: async (write) => {
      await pause(ms);
      return store.append(write);
    },
  });
}

function rathOn(store: Store, options: RathOptions = {}, on: object = {}): Rath {
  const worker = `${machine()}:${1_997_000_000 + processes++}:t`;
  const times = { parkGraceMs: 1, closeMs: 50, stillReplayMs: 50 };
  return composeRath({ implicitForks: "allow", ...options, store }, { ...on, worker, times });
}

async function isSound(store: Store, id: string): Promise<void> {
  const other = rathOn(like(store));
  const checked = await verify(await other.open(id));
  expect(checked.problems.filter(({ problem }) => !problem.includes("unknown key"))).toEqual([]);
  await other.close();
}

describe("a branch that somebody else continues", () => {
  const steps = new Flow(async (session) => {
    let at = session;
    for (const name of ["one", "two", "three", "four"]) at = await at.do(name, () => name, { repeat: "safe" });
    return at.do("last", () => "done");
  });

  test("while a commit of a run is in flight leaves a record that verifies and replays", async () => {
    const store = memoryStore();
    const here = rathOn(slow(store, 8));
    const there = rathOn(like(store));
    const start = await here.save(here.session("go"));
    const run = await here.run(steps, start);
    await there.save((await there.open(start.id)).note("from elsewhere"));
    const done = await run.result();
    expect(done.output).toBe("done");
    expect(await replay(done, steps)).toMatchObject({ identical: true });
    await isSound(store, done.id);
    await Promise.all([here.close(), there.close()]);
  });

  test("between two effects does not keep a run from ending", async () => {
    const store = memoryStore();
    const here = rathOn(like(store));
    const there = rathOn(like(store));
    const start = await here.save(here.session("go"));
    let begun: () => void = () => {};
    const first = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const meddled = new Flow(async (session) => {
      const one = await session.do("one", () => 1);
      begun();
      return one.fork("winner").do("two", () => pause(30).then(() => 2));
    });
    const run = await here.run(meddled, start);
    await first;
    await there.save((await there.open(start.id)).note("from elsewhere"));
    const done = await run.result();
    expect(done.output).toBe(2);
    await isSound(store, done.id);
    await Promise.all([here.close(), there.close()]);
  });
});

describe("a store that fails", () => {
  test("to acknowledge, and to answer when asked again, does not move what was written", async () => {
    const store = memoryStore();
    let outage = 0;
    const flaky = like(store, {
      append: async (write: Write): Promise<Written> => {
        const written = await store.append(write);
        const last = write.branches.some((branch) => branch.events.some((event) => Buffer.from(event.envelope).includes('"do.called"')));
        if (outage === 0 && last) {
          outage = 1;
          throw new Error("connection lost");
        }
        return written;
      },
      events: (query) => {
        if (outage !== 1 || !("ids" in query)) return store.events(query);
        outage = 2;
        throw new Error("connection lost");
      },
    });
    const rath = rathOn(flaky);
    const start = rath.session("go");
    const flow = new Flow(async (session) => {
      const failed = await session.do("pay", () => "paid").catch((error: { session: Session }) => error.session);
      return failed.do("tell", () => "told");
    });
    const done = await (await rath.run(flow, start)).result();
    expect(outage).toBe(2);
    expect(done.id).toBe(start.id);
    expect(await replay(done, flow)).toMatchObject({ identical: true });
    await isSound(store, done.id);
    await rath.close();
  });

  test("before a once effect begins makes it fail with its session, not begin", async () => {
    const store = memoryStore();
    let refuse = false;
    const rath = rathOn(
      like(store, {
        append: async (write) => {
          if (refuse) throw new Error("disk full");
          return store.append(write);
        },
      }),
    );
    let begun = 0;
    const flow = new Flow(async (session) => {
      refuse = true;
      const after = await session.do("pay", () => ++begun).catch((error: { session: Session }) => error.session);
      refuse = false;
      return after.do("later", () => "ok");
    });
    const done = await (await rath.run(flow, rath.session("go"))).result();
    expect([done.output, begun]).toEqual(["ok", 0]);
    expect([...done.events()].filter((event) => event.kind === "do.returned").map((event) => event.facts.outcome)).toEqual(["error", "ok"]);
    expect(await replay(done, flow)).toMatchObject({ identical: true });
    await isSound(store, done.id);
    await rath.close();
  });
});

describe("one run", () => {
  test("taken up twice at once is executed once", async () => {
    const store = memoryStore();
    const calls: string[] = [];
    const flow = new Flow(async (session) => {
      const asked = await session.ask("go?");
      const one = await asked.do("one", () => calls.push("one"));
      return one.do("two", () => calls.push("two"));
    });
    const rath = rathOn(slow(store, 4), { workflows: { flow } });
    const run = await rath.run(flow, rath.session());
    const waiting = await run.settle();
    await rath.decide(waiting.status === "waiting" ? (waiting.pending[0]?.id as string) : "", { by: "human:ada", answer: "yes" });
    await Promise.all([rath.resume(run.id), rath.resume(run.id), rath.resume(run.id)]);
    const done = await run.result();
    expect(calls).toEqual(["one", "two"]);
    await isSound(store, done.id);
    await rath.close();
  });

  test("parked replays as identical; a question in it expires by itself", async () => {
    const store = memoryStore();
    const flow = new Flow((session) => session.ask("soon?", undefined, { expires: "1200ms" }));
    const clock = standingClock();
    const rath = rathOn(like(store), { workflows: { flow } }, clock);
    const run = await rath.run(flow, rath.session());
    const waiting = await run.settle();
    expect(waiting.status).toBe("waiting");
    expect(await replay(waiting.session, flow)).toMatchObject({ identical: true });
    clock.go();
    await expect(run.result()).rejects.toMatchObject({ code: "effect.expired" });
    await rath.close();
  });

  test("gives no value away while it runs: outside it may only be forked", async () => {
    const rath = rathOn(memoryStore());
    let leaked: Session | undefined;
    let goOn = (): void => {};
    const meanwhile = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const flow = new Flow(async (session) => {
      leaked = await session.do("one", () => 1);
      await meanwhile;
      return leaked.do("two", () => 2);
    });
    const run = await rath.run(flow, rath.session());
    while (leaked === undefined) await pause(2);
    await expect(leaked.do("outside", () => 0)).rejects.toMatchObject({ code: "session.outer-scope" });
    expect((await leaked.fork("mine").do("outside", () => 5)).output).toBe(5);
    goOn();
    expect((await run.result()).output).toBe(2);
    await rath.close();
  });

  test("rerun unchanged reuses what follows a nested effect", async () => {
    const rath = rathOn(memoryStore());
    let calls = 0;
    const flow = new Flow(async (session) => {
      const nested = await session.do("outer", async ({ session: inner }) => (await inner.do("inner", () => ++calls)).output, {
        repeat: "nested",
      });
      return (await nested.do("pay", () => ++calls)).do("mail", () => ++calls);
    });
    const done = await flow.forward(rath.session("go"));
    const before = calls;
    expect(await rerun(done, flow, { effects: "live" })).toMatchObject({ reused: 4, of: 4, split: undefined });
    expect(calls).toBe(before);
    await rath.close();
  });
});
