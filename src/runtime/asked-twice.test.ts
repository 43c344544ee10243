/** Equal values of which only some are gone on from: what causes no effect and leads to none is not on record, and the program is the same. */
import { describe, expect, test, vi } from "vitest";
import { Flow } from "../../test/support/flow.ts";
import { sharedStore } from "../../test/support/shared-store.ts";
import type { Session } from "../session/session.ts";
import { testRath } from "../testing/test-rath.ts";
import { replay } from "./replay.ts";

interface Did {
  readonly effects: string[];
}

/** Runs until the last effect, ends that process, and goes on in another one. */
async function killedBeforeLast(
  program: (session: Session, act: (session: Session, name: string) => Promise<Session>) => Promise<Session>,
) {
  const store = sharedStore();
  const did: Did = { effects: [] };
  const [reached, reach] = promised();
  const act = (session: Session, name: string): Promise<Session> =>
    session.do(name, () => did.effects.push(name), { repeat: "once", input: session.uuid("key") });
  const flow = (last: () => unknown): Flow =>
    new Flow(async (session) => (await program(session, act)).do("last", last, { repeat: "safe" }), "flow");
  await using first = testRath({ store, workflows: { flow: flow(() => new Promise(reach)) } });
  const { id } = await first.run("flow", first.session("go"));
  await reached;
  await first.close();
  const again = flow(() => 1);
  await using second = testRath({ store, workflows: { flow: again } });
  const run = await second.resume(id);
  const { status } = await run.settle();
  return { status, did: did.effects, replayed: status === "done" ? String(await replay(await run.result(), again)) : undefined };
}

/** A promise, and what keeps it. */
function promised<T = unknown>(): readonly [promise: Promise<T>, keep: (value?: T) => void] {
  let keep: (value?: T) => void = () => {};
  const promise = new Promise<T>((resolve) => {
    keep = resolve as typeof keep;
  });
  return [promise, keep];
}

const ended = (session: Session, name: string): Promise<Session> => session.do(name, () => name, { repeat: "safe" });

const verbs: readonly [string, (session: Session) => Session][] = [
  ["say", (session) => session.say("x")],
  ["several verbs", (session) => session.say("x").note("y").say("z")],
  ["a fork", (session) => session.say("x").fork("way")],
  ["a fork, and what is said on it", (session) => session.say("x").fork("way").say("y")],
  ["a detached line", (session) => session.say("x").detach()],
];

describe.each(verbs)("%s, asked for twice of one value", (_, verb) => {
  // Mutant: whoever asks first is given what is on record.
  test("the first time for nothing: the run goes on", async () => {
    const { status, did, replayed } = await killedBeforeLast(async (session, act) => {
      verb(session);
      return act(verb(session), "a");
    });
    expect([status, did]).toEqual(["done", ["a"]]);
    expect(replayed).toMatch(/^identical/);
  });

  test("the second time for nothing: the run goes on", async () => {
    const { status, did, replayed } = await killedBeforeLast(async (session, act) => {
      const kept = verb(session);
      verb(session);
      return act(kept, "a");
    });
    expect([status, did]).toEqual(["done", ["a"]]);
    expect(replayed).toMatch(/^identical/);
  });

  // Mutant: an implicit fork that was not written took no place.
  test("and once more between the two that are gone on from: each goes on from its own", async () => {
    const { status, did, replayed } = await killedBeforeLast(async (session, act) => {
      const [one, , two] = [verb(session), verb(session), verb(session)];
      await act(one, "a");
      return act(two, "b");
    });
    expect([status, did]).toEqual(["done", ["a", "b"]]);
    expect(replayed).toMatch(/^identical/);
  });
});

// Mutants: whoever asks first is given what is on record; both are.
test("two equal values that both go on, the second first, act twice under keys of their own, whichever was on record when the run was killed", async () => {
  const store = sharedStore();
  const keys: string[] = [];
  const [reached, reach] = promised();
  const flow = (between: () => unknown): Flow =>
    new Flow(async (session) => {
      const [one, two] = [session.say("x"), session.say("x")];
      const pay = (of: Session): Promise<Session> => of.do("pay", () => keys.push(of.uuid("key")), { repeat: "keyed" });
      await (await pay(two)).do("between", between, { repeat: "safe" });
      return pay(one);
    }, "flow");
  await using first = testRath({ store, workflows: { flow: flow(() => new Promise(reach)) } });
  const { id } = await first.run("flow", first.session("go"));
  await reached;
  await first.close();
  await using second = testRath({ store, workflows: { flow: flow(() => 1) } });
  const { status } = await (await second.resume(id)).settle();
  expect([status, keys.length, new Set(keys).size]).toEqual(["done", 2, 2]);
});

// Mutant: whoever enters first is given the entering that is on record.
test("of two workflows on one value the second alone had done something when the run was killed: each goes on as itself", async () => {
  const store = sharedStore();
  const did: string[] = [];
  const [reached, reach] = promised();
  const flow = (isFirst: boolean): Flow => {
    const act = (session: Session, name: string): Promise<Session> => session.do(name, () => did.push(name), { repeat: "keyed" });
    const hangs = (): unknown => (isFirst ? new Promise(reach) : 1);
    const late = new Flow(async (session) => {
      if (isFirst) await new Promise(() => {});
      return act(session, "late");
    }, "late");
    const soon = new Flow(async (session) => (await act(session, "soon")).do("hangs", hangs, { repeat: "keyed" }), "soon");
    return new Flow(async (session) => {
      const [one, two] = await Promise.all([late.forward(session), soon.forward(session)]);
      return one.do("both", () => two.calls.length, { repeat: "safe" });
    }, "flow");
  };
  await using first = testRath({ store, workflows: { flow: flow(true) } });
  const { id } = await first.run("flow", first.session("go"));
  await reached;
  await first.close();
  await using second = testRath({ store, workflows: { flow: flow(false) } });
  const run = await second.resume(id);
  expect(await run.settle()).toMatchObject({ status: "done" });
  expect(did).toEqual(["soon", "late"]);
  expect(String(await replay(await run.result(), flow(false)))).toMatch(/^identical/);
});

/** What is made for nothing before what goes on, as the program was and as it is now; whether others went on from there meanwhile. */
const forNothing: readonly [string, (at: Session) => unknown, (at: Session) => unknown, boolean][] = [
  ["another value was made for nothing, and is not made any more", (at) => at.note("x"), () => {}, false],
  ["another value was made for nothing, and others went on from there", (at) => at.note("x"), (at) => at.note("x"), true],
  ["an equal value was made for nothing, and others went on from there", (at) => at.say("x"), (at) => at.say("x"), true],
];
// Mutants: who asks first took the branch, whatever is asked for; that it was taken is told from where it ends.
test.each(forNothing)("%s: the run goes on", async (_, before, now, others) => {
  const store = sharedStore();
  const [reached, reach] = promised();
  const flow = (isFirst: boolean): Flow =>
    new Flow(async (session) => {
      const at = await ended(session, "begin");
      (isFirst ? before : now)(at);
      const done = await ended(at.say("x"), "a");
      return done.do("last", () => (isFirst ? new Promise(reach) : 1), { repeat: "safe" });
    }, "flow");
  await using first = testRath({ store, workflows: { flow: flow(true) } });
  const { id, session } = await first.run("flow", first.session("go"));
  await reached;
  await first.close();
  await using other = testRath({ store });
  if (others) await other.save((await other.open(session)).note("theirs"));
  await using second = testRath({ store, workflows: { flow: flow(false) } });
  const run = await second.resume(id);
  expect(await run.settle()).toMatchObject({ status: "done" });
  expect(String(await replay(await run.result(), flow(false)))).toMatch(/^identical/);
});

const onOneValue: readonly [string, (at: Session) => Promise<Session>][] = [
  [
    "two equal calls that go on differently",
    async (at) => {
      const [one] = await Promise.all(["one", "two"].map(async (name) => ended(await ended(at, "try"), `after ${name}`)));
      return one as Session;
    },
  ],
  [
    "two workflows",
    async (at) => {
      const [one] = await Promise.all(["one", "two"].map((name) => new Flow((session) => ended(session, name), name).forward(at)));
      return one as Session;
    },
  ],
  [
    "an equal value that is dropped after the one that goes on",
    (at) => {
      const kept = at.say("x");
      at.say("x");
      return ended(kept, "a");
    },
  ],
  [
    "an equal value that is dropped before the one that goes on",
    (at) => {
      at.say("x");
      return ended(at.say("x"), "a");
    },
  ],
  [
    "an equal value that is dropped before the place itself moves",
    async (at) => {
      const here = at.say("here");
      here.say("x");
      await here.fork("side").do("moves", () => 1, { repeat: "once" });
      return ended(here.say("x"), "a");
    },
  ],
];

// Mutants: equal forks are taken in the order of their ordinals; whoever asks first is given what is on record; a place that moved is another.
test.each(onOneValue)("%s, where somebody else continued that value first, and the branch moved: the run goes on", async (_, program) => {
  const store = sharedStore();
  const [where, stands] = promised<string>();
  const [moved, goOn] = promised();
  const [reached, reach] = promised();
  const flow = (isFirst: boolean): Flow =>
    new Flow(async (session) => {
      const at = await ended(session, "begin");
      if (isFirst) {
        stands(at.id);
        await moved;
      }
      return (await program(at)).do("last", () => (isFirst ? new Promise(reach) : 1), { repeat: "safe" });
    }, "flow");
  await using first = testRath({ store, workflows: { flow: flow(true) } });
  const { id } = await first.run("flow", first.session("go"));
  const session = await where;
  await using other = testRath({ store });
  await vi.waitFor(async () => expect([...(await other.open(session)).events()].at(-1)?.kind).toBe("do.returned"));
  await other.save((await other.open(session)).note("theirs"));
  goOn();
  await reached;
  await first.close();
  await using second = testRath({ store, workflows: { flow: flow(false) } });
  const run = await second.resume(id);
  expect(await run.settle()).toMatchObject({ status: "done" });
  expect(String(await replay(await run.result(), flow(false)))).toMatch(/^identical/);
});

// Mutant: whoever enters first on a branch that nobody continued took that, and is not who is on record.
test("a workflow that was called beside a session that waits is replayed", async () => {
  await using rath = testRath();
  const run = await rath.run(new Flow((session) => session.ask("May I?"), "asks"), rath.session("go"));
  expect((await run.settle()).status).toBe("waiting");
  const look = new Flow((session) => ended(session, "look"), "look");
  const looked = await look.forward(await rath.open(run.session));
  expect(String(await replay(looked, look))).toMatch(/^identical/);
});

// Mutant: a branch that moves is numbered without those on record.
test("a branch that moves while its run is executed again is none of the forks on record", async () => {
  const store = sharedStore();
  const [where, stands] = promised<string>();
  const [moved, goOn] = promised();
  const [reached, reach] = promised();
  const flow = (isFirst: boolean): Flow =>
    new Flow(async (session) => {
      const at = await ended(session, "begin");
      const line = at.note("line");
      const side = await ended(at.say("x"), "side");
      await side.do("hangs", () => (isFirst ? new Promise(reach) : 1), { repeat: "safe" });
      stands(at.id);
      await moved;
      return ended(line, "line");
    }, "flow");
  await using first = testRath({ store, workflows: { flow: flow(true) } });
  const { id } = await first.run("flow", first.session("go"));
  await reached;
  await first.close();
  const again = flow(false);
  await using second = testRath({ store, workflows: { flow: again } });
  const run = await second.resume(id);
  await using other = testRath({ store });
  await other.save((await other.open(await where)).note("theirs"));
  goOn();
  expect(await run.settle()).toMatchObject({ status: "done" });
  expect(String(await replay(await run.result(), again))).toMatch(/^identical/);
});

describe("the branch itself holds the first of equal values", () => {
  // Mutant: whoever comes when it is free takes it.
  test("also where it is free again because a merge was refused", async () => {
    await using rath = testRath();
    const flow = new Flow(async (session) => {
      const at = await ended(session, "begin");
      const [a, b] = await Promise.all(["A", "B"].map((content) => at.fork(content).remember({ key: "k", content })));
      const merging = (a as Session).merge(b as Session).catch((error: { readonly code: string }) => error.code);
      const one = (a as Session).say("x");
      expect(await merging).toBe("merge.conflict");
      await ended((a as Session).say("x"), "two");
      return ended(one, "one");
    }, "flow");
    const run = await rath.run(flow, rath.session("go"));
    expect(await run.settle()).toMatchObject({ status: "done" });
    expect(String(await replay(await run.result(), flow))).toMatch(/^identical/);
  });

  // Mutant: as before.
  test("also where what took it was taken out of the code, and the process dies once more", async () => {
    const store = sharedStore();
    const lives = (life: number, die: () => void): Flow =>
      new Flow(async (session) => {
        const at = await ended(session, "begin");
        if (life === 1) at.note("for nothing");
        const [one, two] = [at.say("x"), at.say("x")];
        const did = await (await ended(one, "one")).do("first", () => (life === 1 ? new Promise(die) : 1), { repeat: "safe" });
        expect(did.step).toBeGreaterThan(one.step);
        return (await ended(two, "two")).do("second", () => (life === 2 ? new Promise(die) : 1), { repeat: "safe" });
      }, "flow");
    let id: string | undefined;
    for (const life of [1, 2, 3]) {
      const [dead, die] = promised();
      const flow = lives(life, die);
      await using rath = testRath({ store, workflows: { flow } });
      const run = id === undefined ? await rath.run("flow", rath.session("go")) : await rath.resume(id);
      id = run.id;
      if (life < 3) {
        await dead;
        continue;
      }
      expect(await run.settle()).toMatchObject({ status: "done" });
      expect(String(await replay(await run.result(), flow))).toMatch(/^identical/);
    }
  });
});
