/** Several executions of one process, and several processes, write what stands on each other's work. */
import { AsyncResource } from "node:async_hooks";
import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises";
import * as fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { Flow } from "../../test/support/flow.ts";
import { never, process, stopped, until } from "../../test/support/processes.ts";
import { begun, orphans, parentsOf, said, says, texts } from "../../test/support/said.ts";
import { RathError } from "../session/errors.ts";
import type { Session } from "../session/session.ts";
import { memoryStore } from "../store/memory.ts";
import type { RunRow, Store, Write } from "../store/store.ts";
import type { Rath } from "./rath.ts";
import { replay } from "./replay.ts";

afterEach(stopped);

const safe = { repeat: "safe" } as const;

/** The store, which does something before it takes a write. */
function before(store: Store, meanwhile: (write: Write) => unknown): Store {
  const append = async (write: Write) => {
    await meanwhile(write);
    return store.append(write);
  };
  return { ...store, append };
}

/** The store, which takes longer for what says this. */
const slow = (store: Store, text: string, ms = 60): Store => before(store, (write) => says(write, text) && sleep(ms));

/** The store, which does not take what says this, the first times. */
function failing(store: Store, text: string, times: number): Store {
  let left = times;
  return before(store, async (write) => {
    if (!says(write, text) || left-- <= 0) return;
    await sleep(10);
    throw new Error("the store was down for a moment");
  });
}

/** A promise, and what keeps it. */
function deferred<T = void>(): { readonly promise: Promise<T>; resolve(value: T): void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((keep) => {
    resolve = keep;
  });
  return { promise, resolve };
}

async function rowOf(store: Store, id: string): Promise<RunRow | undefined> {
  for await (const row of store.runs({ id })) return row;
  return undefined;
}

const worked = new Flow(async (session) => (await session.do("work", () => 1)).say("worked"));

describe("a run begins on what is being saved and has to move", () => {
  /** A draft on a session that has gone on elsewhere; writing it takes a while. */
  async function late(more: (store: Store) => Store = (store) => store): Promise<{ store: Store; here: Rath; id: string; draft: Session }> {
    const store = memoryStore();
    const { here, id, more: say } = await begun(store, more(slow(store, "draft")));
    const draft = (await here.open(id)).say("draft");
    await say("theirs");
    return { store, here, id, draft };
  }

  test.each(["run", "forward"] as const)("%s goes on with it, replays, and leaves it to whoever comes next", async (how) => {
    const { store, here, draft } = await late();
    const run = how === "run" ? here.run(worked, draft) : undefined;
    const [, done] = await Promise.all([here.save(draft), run?.then((begun) => begun.result()) ?? worked.forward(draft)]);
    expect(texts(done)).toEqual(["begin", "draft", "worked"]);
    expect([await orphans(store), await said(store, "draft")]).toEqual([[], 1]);
    if (run !== undefined) expect(await rowOf(store, (await run).id)).toMatchObject({ session: done.id, status: "done" });
    expect((await replay(await process(store).open(done.id), worked)).identical).toBe(true);
    // Mutant: the fork keeps the owner of the log it was moved from.
    expect(done.say("more").id).toBe(done.id);
  });

  test("what was moved under a forward belongs to nobody when that is done", async () => {
    const { here, id, more } = await begun();
    const draft = (await here.open(id)).say("draft");
    await more("theirs");
    const [, done] = await Promise.all([here.save(draft), worked.forward(draft)]);
    expect(done.say("more").id).toBe(done.id);
  });

  // Mutant: #followMoved leaves the row with the session that its input was moved from.
  test.each([
    ["queued", 0],
    ["executed", 0],
    ["executed, its beginning slower than the draft", 80],
  ])("with a key and %s, its row and its input name where that went", async (how, ms) => {
    const { store, here, id, draft } = await late((store) => ({
      ...before(store, ({ run, lease }) => run !== undefined && lease === undefined && sleep(ms)),
      runs: async function* (query) {
        await sleep(5);
        yield* store.runs(query);
      },
    }));
    const running = here.run(worked, draft, { key: "k", queue: how === "queued" });
    await sleep(2);
    const saved = await here.save(draft);
    const run = await running;
    if (how !== "queued") expect(texts(await run.result())).toEqual(["begin", "draft", "worked"]);
    expect([saved.id === id, await orphans(store)]).toEqual([false, []]);
    expect(await rowOf(store, run.id)).toMatchObject({ session: saved.id, status: how === "queued" ? "queued" : "done" });
  });
});

describe("a write that the store did not take", () => {
  test("of several whose outcome is not known, any may have landed (mutant: only the last one is remembered)", async () => {
    const store = memoryStore();
    let [tries, down] = [0, false];
    const rough: Store = {
      ...store,
      append: async (write) => {
        const nth = says(write, "one") ? ++tries : 0;
        if (nth === 1) await store.append(write);
        if (nth > 0) down = nth === 1;
        if (nth === 1) throw new Error("its acknowledgement was lost");
        if (nth === 2) throw new Error("it never arrived");
        return store.append(write);
      },
      events: (query) => {
        if (down) throw new Error("nobody answers");
        return store.events(query);
      },
    };
    const here = process(rough);
    const session = await here.save(here.session("begin"));
    const one = session.say("one");
    await expect(here.save(one)).rejects.toThrow("nobody answers");
    const two = one.say("two");
    await expect(here.save(two)).rejects.toThrow("it never arrived");
    const saved = await here.save(two);
    expect([saved.id, await said(store, "one"), await said(store, "two")]).toEqual([session.id, 1, 1]);
  });

  test("is waited for again by what stands on it (mutant: only once)", async () => {
    const store = memoryStore();
    const here = process(failing(store, "draft", 2));
    const draft = (await here.save(here.session("begin"))).say("draft");
    const flow = new Flow(async (session) => {
      for (const name of ["one", "two", "three"]) {
        session = await session.do(name, () => 1, safe);
        await sleep(20);
      }
      return session;
    });
    await Promise.allSettled([here.save(draft), flow.forward(draft.say("go"))]);
    expect(await orphans(store)).toEqual([]);
    await here.save(draft);
    expect(await said(store, "draft")).toBe(1);
  });

  test("keeps a fork of a workflow's value from being saved until it is there, however often that is tried", async () => {
    const store = memoryStore();
    const here = process(failing(store, "inner", 1));
    const session = await here.save(here.session("begin"));
    const inner = deferred<Session>();
    const gate = deferred();
    const running = new Flow(async (at) => {
      const next = await at.do("work", () => "inner", safe);
      inner.resolve(next);
      await gate.promise;
      return next.say("end");
    }).forward(session);
    const forked = (await inner.promise).fork("f").say("forked");
    await expect(here.save(forked)).rejects.toThrow("the store was down for a moment");
    expect(await orphans(store)).toEqual([]);
    await here.save(forked);
    expect([await orphans(store), await said(store, "forked")]).toEqual([[], 1]);
    gate.resolve();
    await running;
  });

  test("of a run that lost its lease is made by whoever saves what stands on it", async () => {
    const store = memoryStore();
    const fenced: Store = {
      ...store,
      append: async (write) =>
        write.lease !== undefined && says(write, "inner") ? { ok: false, reason: "epoch", epoch: 99 } : store.append(write),
    };
    const here = process(fenced);
    const inner = deferred<Session>();
    const flow = new Flow(async (session) => {
      inner.resolve(await session.do("work", () => "inner", safe));
      return never();
    });
    const run = await here.run(flow, await here.save(here.session("begin")));
    run.result().catch(() => {});
    const forked = (await inner.promise).fork("f").say("forked");
    for (let times = 0; times < 2; times++) await here.save(forked).catch(() => {});
    expect([await orphans(store), await said(store, "forked")]).toEqual([[], 1]);
  });

  test("for good keeps nobody from writing and opening something else, and three hold what was said to work inside an effect", async () => {
    const store = memoryStore();
    const first = process(store);
    const session = await first.save(first.session("begin"));
    let inner = session.id;
    const flow = new Flow((at) =>
      at.do("outer", async (context) => {
        inner = (await context.session.do("inner", () => "x")).id;
      }),
    );
    await flow.forward(session);
    expect(inner).not.toBe(session.id);
    const raths = [1, 2, 3].map(() => process(store));
    const drafts = await Promise.all(raths.map(async (rath, nth) => (await rath.open(inner)).say(`draft ${nth}`)));
    const saved: (string | undefined)[] = [];
    for (const [nth, rath] of raths.entries()) saved.push(texts(await rath.save(drafts[nth] as Session)).at(-1));
    expect(saved).toEqual(["draft 0", "draft 1", "draft 2"]);
    for (const rath of raths) {
      await rath.open(session.id);
      await rath.save(rath.session("something else"));
    }
  });
});

describe("what one execution is about to write, and another waits for", () => {
  // Mutant: add returns where somebody else has queued it, and does not wait for them.
  test("is on disk when save says so", async () => {
    const store = memoryStore();
    const here = process(slow(store, "draft"));
    const draft = (await here.save(here.session("begin"))).say("draft");
    const running = worked.forward(draft);
    await here.save(draft);
    expect(await said(store, "draft")).toBe(1);
    await running;
  });

  test("is found by the id that save gave, also where it had to move", async () => {
    const store = memoryStore();
    const { here, id, more } = await begun(store, slow(store, "draft"));
    const draft = (await here.open(id)).say("draft");
    await more("theirs");
    const running = worked.forward(draft);
    const { id: where, head } = await here.save(draft);
    await running;
    expect(texts((await process(store).open(where)).at(head))).toEqual(["begin", "draft"]);
  });

  test("is on disk before what stands on it, also what they queued while others waited for them", async () => {
    const store = memoryStore();
    let early = 0;
    const checked = before(store, async ({ branches }) => {
      const events = branches.flatMap((branch) => branch.events);
      const ours = new Set(events.map(({ id }) => id));
      const theirs = new Set(events.flatMap(parentsOf).filter((id) => !ours.has(id)));
      for await (const { id } of store.events({ ids: [...theirs] })) theirs.delete(id);
      early += theirs.size;
    });
    const here = process(slow(slow(checked, "inner 2", 40), "inner 1", 20));
    const session = await here.save(here.session("begin"));
    const [one, two] = [deferred<Session>(), deferred<Session>()];
    const flow = new Flow(async (at) => {
      const first = await at.do("one", () => "inner 1", safe);
      one.resolve(first);
      await sleep(8);
      const second = await first.do("two", () => "inner 2", safe);
      two.resolve(second);
      await sleep(100);
      return second;
    });
    const running = flow.forward(session);
    const first = here.save((await one.promise).fork("f").say("fork 1"));
    const second = await two.promise;
    await sleep(1);
    await Promise.all([first, here.save(second.fork("f").say("fork 2")), running]);
    expect(early).toBe(0);
  });

  test("is all that is waited for: two that stand on each other's work end (mutant: the other writes all it has)", async () => {
    const store = memoryStore();
    const here = process(slow(store, "draft"));
    const session = await here.save(here.session("begin"));
    const draft = session.say("draft");
    const inside = deferred<Session>();
    const flow = new Flow(async (at) => {
      inside.resolve(at);
      return at.do("work", () => 1, safe);
    });
    const [saving, running] = [here.save(draft), flow.forward(draft.say("go"))];
    const forked = (await inside.promise).fork("f").say("forked");
    await sleep(20);
    const all = Promise.all([saving, running, here.save(forked)]).then(() => here.open(session.id));
    expect(await Promise.race([all.then(() => "done"), sleep(20_000, "stuck", { ref: false })])).toBe("done");
  });

  test("what is saved beside a run at work on the branch belongs to nobody, and goes on in place", async () => {
    const store = memoryStore();
    const here = process(store);
    const session = await here.save(here.session("begin"));
    let letOut: Session | undefined;
    let works = false;
    const gate = deferred();
    const flow = new Flow(async (at) => {
      const done = await at.do("work", () => "done");
      letOut ??= done.say("let out");
      const asked = await done.ask("go on?");
      await done.do("again", () => "again");
      await asked.do("slow", () => {
        works = true;
        return gate.promise;
      });
      return asked;
    });
    const run = await here.run(flow, session);
    const settled = await run.settle();
    const question = settled.status === "waiting" ? settled.pending[0] : undefined;
    await here.decide(question?.id as string, { by: "human:test", answer: "yes" });
    await until(() => works, "the run is at work");
    const saved = await here.save(letOut as Session);
    gate.resolve();
    await run.result().catch(() => {});
    expect(saved.say("more").id).toBe(saved.id);
  });
});

/** What is done, with which value and which other one (0 is the newest), and whether it is waited for before the next begins. */
const step = fc.record({
  // What meets most is there twice.
  do: fc.constantFrom(
    ...(["say", "save", "theirs", "forward", "run", "keyed"] as const),
    ...(["say", "fork", "detach", "save", "work", "merge", "open", "theirs", "forward"] as const),
  ),
  at: fc.oneof(fc.nat(1), fc.nat(20)),
  with: fc.nat(20),
  flow: fc.nat(3),
  shown: fc.constantFrom("to nobody", "forked", "saved"),
  wait: fc.constantFrom("no", "no", "for it", "for all"),
});

/** Workflows, and whom they show what they have on the way. */
const flows = (show: (value: Session) => void): readonly Flow[] => {
  const shown = (value: Session): Session => {
    show(value);
    return value;
  };
  return [
    new Flow(async (session) => shown(shown(session).say("worked"))),
    new Flow(async (session) => shown(await shown(session).do("one", () => 1, safe)).say("worked")),
    new Flow(async (session) => shown((await session.do("one", () => 1)).say("between")).do("two", () => 2)),
    new Flow(async (session) => {
      const aside = session.fork("aside").do("three", () => 3, safe);
      return shown(shown(await session.do("one", () => 1, safe)).say("between")).merge(await aside);
    }),
  ];
};

/** Acts as somebody does who is in no workflow. */
const outside = new AsyncResource("outside");

test("laws: whatever overlaps, all stands on what is stored, each text is there once, and a value says what it said", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 2, maxLength: 16, size: "max" }),
      fc.array(fc.constantFrom(0, 1, 3, 10, 40), { minLength: 1, maxLength: 20 }),
      async (steps, lags) => {
        const store = memoryStore();
        let writes = 0;
        const lagging = before(store, async () => {
          for (let left = lags[writes++ % lags.length] as number; left > 0; left--) await turn();
        });
        const { here, there, id, more } = await begun(store, lagging);
        const values = [await here.open(id)];
        const were = [["begin"]];

        const made = (verb: string, name: string, flow: Flow, value: Session, other: Session): Session | Promise<Session> => {
          if (verb === "open") return here.open(id);
          if (verb === "merge") return value.merge(other);
          if (verb === "work") return value.do(name, () => name);
          if (verb === "forward") return flow.forward(value.say(name));
          if (verb === "run") return here.run(flow, value).then((run) => run.result());
          if (verb === "keyed") return here.run(flow, value, { key: name }).then((run) => run.result());
          return (verb === "say" ? value : verb === "fork" ? value.fork() : value.detach()).say(name);
        };
        const failed: unknown[] = [];
        const show = (shown: (typeof steps)[number]["shown"], nth: number) => (value: Session) =>
          outside.runInAsyncScope(() => {
            if (shown === "to nobody") return;
            const fork = value.fork("shown").say(`shown ${nth}`);
            values.push(fork);
            were.push(texts(fork));
            if (shown === "saved") here.save(fork).catch((error) => failed.push(error));
          });
        const taken = async ({ do: verb, at, with: and, flow, shown }: (typeof steps)[number], nth: number): Promise<void> => {
          const [value, other] = [values.at(-1 - (at % values.length)), values.at(-1 - (and % values.length))] as [Session, Session];
          if (verb === "theirs") await more(`theirs ${nth}`);
          else if (verb === "save") {
            const { id: where, head } = await here.save(value);
            expect(texts((await there.open(where)).at(head)), "saved, seen elsewhere").toEqual(texts(value));
          } else {
            const next = await made(verb, `ours ${nth}`, flows(show(shown, nth))[flow] as Flow, value, other);
            values.push(next);
            were.push(texts(next));
          }
        };
        const running: Promise<void>[] = [];
        for (const [nth, one] of steps.entries()) {
          const going = taken(one, nth).catch((error) => {
            // What has an open effect cannot be merged; it may have been begun meanwhile.
            if (!RathError.is(error, "merge.refused")) throw error;
          });
          running.push(going);
          going.catch(() => {});
          if (one.wait !== "no") await within<unknown>(30, one.wait === "for it" ? going : Promise.allSettled(running));
        }
        expect(await within(20_000, Promise.all(running))).not.toBe("stuck");
        expect(failed).toEqual([]);

        expect(values.map(texts)).toEqual(were);
        const elsewhere = process(store);
        for (const [nth, value] of values.entries()) {
          const saved = await here.save(value);
          expect(texts(saved), `value ${nth}`).toEqual(were[nth]);
          expect(texts((await elsewhere.open(saved.id)).at(saved.head)), `value ${nth}, elsewhere`).toEqual(were[nth]);
        }
        expect(await orphans(store)).toEqual([]);
        for (const [nth, { do: verb }] of steps.entries())
          if (["say", "fork", "detach", "forward"].includes(verb)) expect(await said(store, `ours ${nth}`), `ours ${nth}`).toBe(1);
        for await (const { status } of store.runs({})) expect(status).toBe("done");
        await stopped();
      },
    ),
    { numRuns: Number(globalThis.process.env["WRITERS_RUNS"] ?? 120), interruptAfterTimeLimit: 40_000, markInterruptAsFailure: true },
  );
});

/** What it gives, or that it took too long. */
function within<T>(ms: number, promise: Promise<T>): Promise<T | "stuck"> {
  return Promise.race([promise, sleep(ms, "stuck" as const, { ref: false })]);
}
