import { describe, expect, test } from "vitest";
import { Flow } from "../../test/support/flow.ts";
import { until } from "../../test/support/other-process.ts";
import { standingClock } from "../../test/support/standing-clock.ts";
import { composeRath } from "../openrath.ts";
import type { RathOptions } from "../rath-options.ts";
import { memoryStore } from "../store/memory.ts";
import type { Store } from "../store/store.ts";
import { machine } from "../workspace/machine.ts";
import type { Rath } from "./rath.ts";
import { replay } from "./replay.ts";

let processes = 0;

/** Closing a Rath on it leaves the store open. */
function kept(store: Store): Store {
  return new Proxy(store, {
    get: (target, name) => {
      if (name === Symbol.asyncDispose) return async () => {};
      const member: unknown = Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}

/** A Rath of another process, dead for whoever comes later. */
function process(store: Store, options: RathOptions = {}, times: object = {}, on: object = {}): Rath {
  return composeRath(
    { implicitForks: "allow", ...options, store: kept(store) },
    {
      ...on,
      worker: `${machine()}:${1_999_000_000 + processes++}:t`,
      times: { parkGraceMs: 1, closeMs: 50, stillResumeMs: 200, ...times },
    },
  );
}

const never = (): Promise<never> => new Promise(() => {});

describe("a run", () => {
  test("gives the session it was given, finished, with the same id", async () => {
    await using rath = process(memoryStore());
    const start = rath.session("go");
    const run = await rath.run(new Flow((session) => session.fork("a").do("x", () => 1)), start);
    const done = await run.result();
    expect(run.session).toBe(start.id);
    expect(done.id).toBe(start.id);
    expect(done.output).toBe(1);
    expect(await run.status()).toBe("done");
    expect((await (await rath.attach(run.id)).result()).head).toBe(done.head);
  });

  test("with a key is the same run, also for a second process; another input or workflow is refused", async () => {
    const store = memoryStore();
    let calls = 0;
    const flow = new Flow((session) => session.do("x", () => ++calls));
    await using first = process(store);
    const one = await first.run(flow, first.session("go"), { key: "k" });
    const head = (await one.result()).head;
    await using second = process(store);
    const two = await second.run(flow, second.session("go"), { key: "k" });
    expect(two.id).toBe(one.id);
    expect((await two.result()).head).toBe(head);
    expect(calls).toBe(1);
    await expect(second.run(flow, second.session("other"), { key: "k" })).rejects.toMatchObject({ code: "run.key-reused" });
    await expect(second.run(new Flow(async (session) => session, "other"), second.session("go"), { key: "k" })).rejects.toMatchObject({
      code: "run.key-reused",
    });
  });

  test("two starters of one key race for one run", async () => {
    const store = memoryStore();
    let calls = 0;
    const flow = new Flow((session) => session.do("x", () => ++calls));
    const raths = [1, 2, 3].map(() => composeRath({ store: kept(store) }, {}));
    const runs = await Promise.all(raths.map((rath) => rath.run(flow, rath.session("go"), { key: "k" })));
    expect(new Set(runs.map((run) => run.id)).size).toBe(1);
    await Promise.all(runs.map((run) => run.result()));
    expect(calls).toBe(1);
    await Promise.all(raths.map((rath) => rath.close()));
  });

  test("on a session that another run writes continues its own fork", async () => {
    await using rath = process(memoryStore());
    const start = await rath.save(rath.session("go"));
    let open = (): void => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const slow = new Flow((session) => session.do("slow", () => gate, { repeat: "safe" }));
    const [a, b] = await Promise.all([rath.run(slow, start), rath.run(slow, start)]);
    open();
    expect(a.session).toBe(start.id);
    expect(b.session).not.toBe(start.id);
    expect((await b.result()).id).toBe(b.session);
    expect((await a.result()).id).toBe(start.id);
  });

  test("that fails says why, and its result rejects with the session after the failure", async () => {
    await using rath = process(memoryStore());
    const run = await rath.run(new Flow((session) => session.do("x", () => Promise.reject(new Error("no")))), rath.session());
    const settled = await run.settle();
    expect(settled).toMatchObject({ status: "failed", error: { code: "effect.failed" } });
    await expect(run.result()).rejects.toMatchObject({ code: "effect.failed" });
    expect(settled.session.status).toBe("failed");
  });

  // Mutant: no error means that it went well.
  test.each([undefined, null, 0, ""])("that fails with %j has failed", async (reason) => {
    await using rath = process(memoryStore());
    const run = await rath.run(new Flow(() => Promise.reject(reason)), rath.session());
    expect(await run.settle()).toMatchObject({ status: "failed", error: { code: "run.failed", message: String(reason) } });
    expect(await run.status()).toBe("failed");
    await expect(run.result()).rejects.toMatchObject({ code: "run.failed" });
  });

  test("is cancelled durably: effects in flight are aborted and closed", async () => {
    await using rath = process(memoryStore());
    let signal: AbortSignal | undefined;
    const run = await rath.run(
      new Flow((session) =>
        session.do(
          "slow",
          (context) => {
            signal = context.signal;
            return never();
          },
          { repeat: "safe" },
        ),
      ),
      rath.session(),
    );
    while (signal === undefined) await new Promise((resolve) => setTimeout(resolve, 1));
    await run.cancel("enough");
    expect((await run.settle()).status).toBe("cancelled");
    expect(signal.aborted).toBe(true);
    expect((await rath.open(run.session)).status).toBe("cancelled");
    await expect(run.result()).rejects.toMatchObject({ code: "run.cancelled" });
  });

  test("with a key that another machine executes goes on here when its lease is over", async () => {
    const store = memoryStore();
    const flow = new Flow((session) => session.do("x", () => "here"));
    await using first = process(store);
    const start = await first.save(first.session("go"));
    const { id } = await first.run(flow, start, { key: "k", queue: true });
    await store.claim(id, "another machine:1:x", 300);
    await using second = process(store, {}, { lookMs: 20 });
    const run = await second.run(flow, await second.open(start.id), { key: "k" });
    expect(run.id).toBe(id);
    expect((await run.result()).output).toBe("here");
  });

  test("is no session, and whoever opens it is told which one it works on", async () => {
    await using rath = process(memoryStore());
    const run = await rath.run(new Flow(async (session) => session), rath.session("go"));
    await run.settle();
    for (const id of [run.id, run.id.slice(0, -1)])
      await expect(rath.open(id)).rejects.toMatchObject({
        code: "session.not-found",
        message: `There is no session ${id} in this store: that is a run, and its session is ${run.session}.`,
      });
  });

  test("is cancelled by the caller's signal", async () => {
    await using rath = process(memoryStore());
    const stop = new AbortController();
    const run = await rath.run(new Flow((session) => session.do("slow", never, { repeat: "safe" })), rath.session(), {
      signal: stop.signal,
    });
    stop.abort();
    expect((await run.settle()).status).toBe("cancelled");
  });

  test("may share it with any number of others, without a warning", async () => {
    await using rath = process(memoryStore());
    const stop = new AbortController();
    const warned: Error[] = [];
    const warn = (warning: Error) => void warned.push(warning);
    globalThis.process.on("warning", warn);
    const flow = new Flow((session) => session.do("slow", never, { repeat: "safe" }));
    const runs = await Promise.all(Array.from({ length: 12 }, () => rath.run(flow, rath.session(), { signal: stop.signal })));
    stop.abort();
    expect((await Promise.all(runs.map((run) => run.settle()))).map(({ status }) => status)).toEqual(runs.map(() => "cancelled"));
    await new Promise((resolve) => setImmediate(resolve));
    globalThis.process.off("warning", warn);
    expect(warned).toEqual([]);
  });
});

describe("a run that waits", () => {
  const flow = new Flow(async (session) => {
    const before = await session.do("before", () => "b");
    const asked = await before.ask("Go on?");
    return asked.do("after", () => asked.output);
  });

  test("is parked, shows what is pending, and goes on in this process when answered", async () => {
    await using rath = process(memoryStore());
    const run = await rath.run(flow, rath.session());
    const waiting = await run.settle();
    expect(waiting).toMatchObject({ status: "waiting", pending: [{ kind: "question", question: "Go on?", run: run.id }] });
    expect(await run.status()).toBe("waiting");
    const [pending] = await rath.pending({ run: run.id });
    await rath.decide(pending?.id as string, { by: "human:ada", answer: "yes" });
    expect((await run.result()).output).toBe("yes");
  });

  test("is taken up by another process, which does not repeat what was done", async () => {
    const store = memoryStore();
    const first = process(store);
    const run = await first.run(flow, first.session());
    const waiting = await run.settle();
    await first.close();
    await using second = process(store, { workflows: { flow } });
    await second.decide(waiting.status === "waiting" ? (waiting.pending[0]?.id as string) : "", { by: "human:bob", answer: "late" });
    const done = await (await second.resume(run.id)).result();
    expect(done.output).toBe("late");
    expect([...done.events()].filter((event) => event.kind === "do.called").map((event) => (event.data as { name: string }).name)).toEqual([
      "before",
      "after",
    ]);
  });

  test("two questions of one run each get their own answer, in any order", async () => {
    await using rath = process(memoryStore());
    const two = new Flow(async (session) => {
      const answers = await Promise.all(["first", "second"].map((name) => session.fork(name).ask(name)));
      return session.fork("end").do("tell", () => answers.map((answer) => answer.output));
    });
    const run = await rath.run(two, rath.session());
    await run.settle();
    const pending = await rath.pending({ run: run.id });
    for (const one of pending.toReversed())
      if (one.kind === "question") await rath.decide(one.id, { by: "human:ada", answer: `to ${one.question}` });
    expect((await run.result()).output).toEqual(["to first", "to second"]);
  });

  test("asked and asked again gets an answer of its own each time", async () => {
    await using rath = process(memoryStore());
    const run = await rath.run(new Flow(async (session) => (await session.ask("one?")).ask("two?")), rath.session());
    for (const answer of ["a", "b"]) {
      await run.settle();
      const [pending] = await rath.pending({ run: run.id });
      await rath.decide(pending?.id as string, { by: "human:ada", answer });
    }
    const done = await run.result();
    expect(
      [...done.events()].filter((event) => event.kind === "ask.returned").map((event) => (event.data as { value: unknown }).value),
    ).toEqual(["a", "b"]);
  });

  test("is woken by an answer from another process, which does not execute it", async () => {
    const store = memoryStore();
    await using here = process(store);
    await using there = process(store);
    const run = await here.run(flow, here.session());
    const waiting = await run.settle();
    const result = run.result();
    await there.decide(waiting.status === "waiting" ? (waiting.pending[0]?.id as string) : "", { by: "human:bob", answer: "from afar" });
    expect(await there.pending({ run: run.id })).toEqual([]);
    expect((await result).output).toBe("from afar");
  });

  test("is left alone by a Rath that does not know its workflow", async () => {
    const store = memoryStore();
    const first = process(store);
    const run = await first.run(flow, first.session());
    await run.settle();
    await first.close();
    await using other = process(store);
    await expect(other.resume(run.id)).rejects.toMatchObject({ code: "run.unknown-workflow" });
    expect(await (await other.attach(run.id)).status()).toBe("waiting");
  });

  test("for a timer wakes by itself", async () => {
    const clock = standingClock();
    await using rath = process(memoryStore(), {}, {}, clock);
    const run = await rath.run(new Flow((session) => session.wait("1s")), rath.session());
    expect((await run.settle()).status).toBe("waiting");
    clock.go();
    expect((await run.result()).status).toBe("idle");
  });

  test("parked and cancelled closes its question", async () => {
    await using rath = process(memoryStore());
    const run = await rath.run(flow, rath.session());
    await run.settle();
    await run.cancel();
    expect((await run.settle()).status).toBe("cancelled");
    expect(await rath.pending({ run: run.id })).toEqual([]);
  });
});

describe("resuming", () => {
  // Mutant: what was done with a session that was detached inside an effect is waited for, though nobody does it again.
  test("goes on after an effect inside which sessions were forked and detached", async () => {
    const store = memoryStore();
    let [ran, naps] = [0, 0];
    const flow = new Flow(async (session) => {
      const done = await session.do(
        "inside",
        async ({ session: inner }) => {
          ran++;
          // Its own, a fork of it, the one of outside, and a detached one once more.
          for (const from of [inner, inner.fork("x"), session, inner.detach()]) await from.detach().do("look", () => 1, { repeat: "safe" });
          return 1;
        },
        { repeat: "nested" },
      );
      return done.do("nap", () => (naps++ === 0 ? never() : 1), { repeat: "safe" });
    });
    const first = process(store, { workflows: { flow } });
    const run = await first.run("flow", first.session("go"));
    await until("the nap", () => naps === 1);
    await first.close();
    await using second = process(store, { workflows: { flow } });
    const done = await (await second.resume(run.id)).result();
    expect([ran, naps]).toEqual([1, 2]);
    expect(String(await replay(done, flow))).toMatch(/^identical/);
  });

  test("asks what became of a once effect without a result, and takes the answer", async () => {
    const store = memoryStore();
    let calls = 0;
    const flow = (hangs: boolean) =>
      new Flow((session) =>
        session.do("pay", () => {
          calls++;
          return hangs ? never() : "paid";
        }),
      );
    const first = process(store);
    const run = await first.run(flow(true), first.session());
    while (calls === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    await using second = process(store, { workflows: { flow: flow(false) } });
    const again = await second.resume(run.id);
    const waiting = await again.settle();
    expect(waiting).toMatchObject({ status: "waiting", pending: [{ kind: "unknown", op: "pay" }] });
    await second.decide(waiting.status === "waiting" ? (waiting.pending[0]?.id as string) : "", {
      by: "human:ada",
      outcome: { type: "ok", value: "it went through" },
    });
    expect((await again.result()).output).toBe("it went through");
    expect(calls).toBe(1);
    void first.close();
  });

  test("is refused while a living process executes the run", async () => {
    const store = memoryStore();
    const flow = new Flow((session) => session.do("slow", never, { repeat: "safe" }));
    await using rath = composeRath({ store, workflows: { flow } }, {});
    const run = await rath.run(flow, rath.session());
    await using other = composeRath({ store, workflows: { flow } }, {});
    await expect(other.resume(run.id)).rejects.toMatchObject({ code: "run.busy", retryable: true });
    await expect(other.resume("nobody")).rejects.toMatchObject({ code: "run.not-found" });
  });

  test("a zombie of the old process is fenced: nothing it does reaches a fork of the run", async () => {
    const store = memoryStore();
    let release: () => void = () => {};
    const blocked = new Promise<void>((resolve) => {
      release = resolve;
    });
    let begun = 0;
    const flow = (gate: Promise<void>) =>
      new Flow(async (session) => {
        const forked = session.fork("side");
        const work = (): Promise<void> => {
          begun++;
          return gate;
        };
        const one = await forked.do("one", work, { repeat: "safe" });
        return one.do("two", () => "done");
      });
    const zombie = process(store);
    const run = await zombie.run(flow(blocked), zombie.session());
    await until("the first effect", () => begun === 1);
    await using heir = process(store, { workflows: { flow: flow(Promise.resolve()) } });
    const done = await (await heir.resume(run.id)).result();
    release();
    // Whoever started it follows it to where it went on.
    expect(await run.settle()).toMatchObject({ status: "done", session: { head: done.head } });
    const after = await heir.open(run.session);
    expect(after.head).toBe(done.head);
    expect([...after.events()].filter((event) => event.kind === "do.returned")).toHaveLength(2);
    void zombie.close();
  });
});

describe("a program that takes another way", () => {
  async function interrupted(store: Store): Promise<string> {
    const first = process(store);
    let begun = false;
    const last = (): Promise<never> => {
      begun = true;
      return never();
    };
    const run = await first.run(new Flow(async (session) => (await session.do("a", () => 1)).do("b", last)), first.session());
    // It begins once its intent is written, and so is what came before.
    await until("the second effect", () => begun);
    void first.close();
    return run.id;
  }
  let ran = 0;
  const other = new Flow(async (session) => (await session.do("other", () => ++ran)).do("b", () => 2));

  test("pauses by default, shows both sides, and runs nothing", async () => {
    const store = memoryStore();
    const id = await interrupted(store);
    ran = 0;
    await using rath = process(store, { workflows: { flow: other } });
    const settled = await (await rath.resume(id)).settle();
    expect(settled).toMatchObject({ status: "waiting", diverged: { field: "name", expected: "a", got: "other" } });
    expect(ran).toBe(0);
    // Asked afterwards it says the same, and nobody waits for a result that cannot come.
    const again = await rath.attach(id);
    expect(await again.settle()).toMatchObject({ status: "waiting", diverged: { got: "other" } });
    await expect(again.result()).rejects.toMatchObject({ code: "run.diverged", details: { expected: "a" } });
  });

  test("or only takes its time goes on by itself when it asks after all", async () => {
    const store = memoryStore();
    const slow = (meanwhile: Promise<void>, end: () => unknown) =>
      new Flow(async (session) => {
        const one = await session.do("a", () => 1, { repeat: "safe" });
        await meanwhile; // not recorded
        return (await one.do("b", () => 2, { repeat: "safe" })).do("c", end, { repeat: "safe" });
      });
    const first = process(store);
    const run = await first.run(slow(Promise.resolve(), never), first.session());
    const results = async (): Promise<number> => {
      let count = 0;
      for await (const { envelope } of store.events({ session: run.session })) if (Buffer.from(envelope).includes("do.returned")) count++;
      return count;
    };
    await expect.poll(results, { interval: 5 }).toBe(2);
    void first.close();
    let goOn = (): void => {};
    const taking = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    await using rath = process(store, { workflows: { flow: slow(taking, () => 3) } });
    const again = await rath.resume(run.id);
    expect(await again.settle()).toMatchObject({ status: "waiting", diverged: {} });
    goOn();
    while ((await again.status()) !== "done") await new Promise((resolve) => setTimeout(resolve, 20));
    expect((await again.result()).output).toBe(3);
  });

  test("fails if asked to", async () => {
    const store = memoryStore();
    const id = await interrupted(store);
    await using rath = process(store, { workflows: { flow: other } });
    const settled = await (await rath.resume(id, { onDivergence: "fail" })).settle();
    expect(settled).toMatchObject({ status: "failed", error: { code: "run.diverged" } });
  });

  test("goes on as a fork if asked to, asking before it repeats anything", async () => {
    const store = memoryStore();
    const id = await interrupted(store);
    ran = 0;
    await using rath = process(store, { workflows: { flow: other } });
    const run = await rath.resume(id, { onDivergence: "fork" });
    const waiting = await run.settle();
    expect(waiting).toMatchObject({ status: "waiting", pending: [{ kind: "approval", tool: "other" }] });
    expect(ran).toBe(0);
  });
});

describe("a value", () => {
  test("that was continued in another process goes on as an implicit fork", async () => {
    const store = memoryStore();
    await using here = process(store);
    await using there = process(store);
    const mine = await here.session("go").do("one", () => 1);
    await here.save(mine);
    const theirs = await (await there.open(mine.id)).do("two", () => 2);
    const ours = await here.save(await mine.do("three", () => 3));
    expect(theirs.id).toBe(mine.id);
    expect(ours.id).not.toBe(mine.id);
    expect(ours.lineage).toMatchObject({ kind: "fork", implicit: true, parents: [mine.head] });
    expect((await there.open(ours.id)).output).toBe(3);
    expect((await here.open(mine.id)).output).toBe(2);
  });

  test("is found by id, by the beginning of it, and at a step; unknown and ambiguous ids are errors", async () => {
    await using rath = process(memoryStore());
    const one = await rath.save(rath.session("one", { tags: ["a"], title: "First" }));
    const two = await rath.save(rath.session("two"));
    expect((await rath.open(one.id.slice(0, 30))).messages[0]?.text).toBeDefined();
    expect((await rath.open(`${two.id}@1`)).step).toBe(1);
    await expect(rath.open("zzz")).rejects.toMatchObject({ code: "session.not-found" });
    await expect(rath.open(one.id.slice(0, 4))).rejects.toMatchObject({ code: "session.ambiguous-id" });
    const tagged: string[] = [];
    for await (const session of rath.sessions({ tag: "a" })) tagged.push(session.id);
    expect(tagged).toEqual([one.id]);
  });
});
