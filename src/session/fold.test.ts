/** Laws of the fold: state continues, usage counts every ancestor once, and a merge gives the shared prefix once, then each suffix. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { link } from "../runtime/link.ts";
import type { Rath } from "../runtime/rath.ts";
import { runtimeOf } from "../runtime/replay.ts";
import { memoryStore } from "../store/memory.ts";
import { testRath } from "../testing/test-rath.ts";
import type { Event } from "./event.ts";
import { list, stateOf } from "./fold.ts";
import { history, type Node } from "./log.ts";
import type { Pending, Session } from "./session.ts";
import { placeOf } from "./value.ts";

const quiet = (): Rath => testRath({ implicitForks: "allow" });

/** Adds an effect that cost so many input tokens, as a model call will. */
function spend(session: Session, input: number): Session {
  const runtime = runtimeOf(session);
  const { node } = placeOf(session);
  const at = node.log.tip === node ? node : placeOf(session.fork("spend")).node;
  const called = link(runtime, {
    log: at.log,
    parents: [at],
    kind: "do.called",
    data: { name: "model", repeat: "safe" },
    by: "test",
    facts: { started: true },
  });
  const usage = { cacheWrite: 0, cached: 0, input, output: 0, reasoning: 0, usd: input / 4 };
  const facts = { attempts: 1, outcome: "ok" as const, usage };
  return runtime.outside(link(runtime, { log: at.log, parents: [called], kind: "do.returned", data: { value: input }, by: "test", facts }));
}

const texts = (session: Session): string[] => session.messages.map((message) => message.text);
const ids = (events: Iterable<Event>): string[] => [...events].map((event) => event.id);

function view(session: Session): unknown {
  const { messages, status, usage, placement, lineage, pending, checks } = session;
  return { messages, status, usage, placement, lineage, pending, checks };
}

type Move =
  | { readonly kind: "say" | "spend" | "fork" | "check" | "nested"; readonly at: number }
  | { readonly kind: "merge"; readonly at: number; readonly with: readonly number[] };

const at = fc.nat({ max: 30 });
const move = (kinds: readonly Exclude<Move["kind"], "merge">[]): fc.Arbitrary<Move> =>
  fc.oneof(
    fc.record({ kind: fc.constantFrom(...kinds), at }),
    fc.record({ kind: fc.constant("merge" as const), at, with: fc.array(at, { minLength: 1, maxLength: 3 }) }),
  );
const talks = fc.array(move(["say", "fork", "fork"]), { minLength: 4, maxLength: 14 });
const works = fc.array(move(["say", "spend", "fork", "check", "nested"]), { minLength: 4, maxLength: 14 });

/** Every value a program made, the root first. Values may be continued twice: those are forks. */
async function play(rath: Rath, moves: readonly Move[]): Promise<readonly Session[]> {
  const made: Session[] = [rath.session("root")];
  for (const [index, one] of moves.entries()) {
    const pick = (place: number): Session => made[place % made.length] as Session;
    const session = pick(one.at);
    made.push(await played(session, one, index, pick));
  }
  return made;
}

function played(session: Session, one: Move, index: number, pick: (place: number) => Session): Session | Promise<Session> {
  switch (one.kind) {
    case "say":
      return session.say(`said ${index}`);
    case "spend":
      return spend(session, 2 ** index);
    case "fork":
      return session.fork(`fork ${index}`);
    case "check":
      return session.check(`check ${index}`, () => index % 2 === 0);
    case "nested":
      return session.do(`nested ${index}`, ({ session: inner }) => spend(inner.say("inside"), 2 ** index).step);
    case "merge":
      return session.merge(one.with.map(pick));
  }
}

const every = (
  moves: fc.Arbitrary<readonly Move[]>,
  law: (session: Session, rath: Rath) => void | Promise<void>,
  numRuns = 60,
): Promise<void> =>
  fc.assert(
    fc.asyncProperty(moves, async (of) => {
      const rath = quiet();
      for (const session of await play(rath, of)) await law(session, rath);
    }),
    { numRuns },
  );

const spent = (nodes: readonly Node[]): number => nodes.reduce((sum, node) => sum + (node.facts.usage?.input ?? 0), 0);

describe("state", () => {
  test("a long line folded at once says at every place what it says when it is walked", () => {
    const rath = quiet();
    let session: Session = rath.session("root");
    const walked = [view(session)];
    for (let index = 0; index < 120; index++) {
      session = index % 3 === 0 ? spend(session, index) : session.say(`said ${index}`);
      walked.push(view(session));
    }
    const line = history(placeOf(session).node);
    for (const node of line) node.state = undefined;
    stateOf(line.at(-1) as Node);
    const kept = line.filter(({ state }) => state !== undefined).length;
    expect(kept).toBeGreaterThan(2);
    expect(kept).toBeLessThan(line.length / 10);
    const heads = new Map(line.map((node) => [node.id, node]));
    let at: Session = session;
    for (const expected of walked.toReversed()) {
      expect(view(at)).toEqual(expected);
      const before = heads.get(at.head)?.parent;
      if (before === undefined) break;
      at = session.at(before.kind === "do.called" ? before.step - 1 : before.step);
    }
    expect(at.step).toBe(1);
  });

  // Mutant: a link that is made again is another one.
  test("after a merge is the same in whatever order the states behind it are made", async () => {
    let long: Session = quiet().session("root");
    for (let index = 0; index < 40; index++) long = long.say(`said ${index}`);
    const fork = long.fork("silent");
    const merged = await fork.merge(long.say("and one more"));
    const read = (): readonly string[] => list(stateOf(placeOf(merged).node).context).map(({ id }) => id);
    const live = read();
    expect(live).toHaveLength(42);
    for (const node of history(placeOf(merged).node)) node.state = undefined;
    expect(read()).toEqual(live);
  });

  test("from scratch is state continued", () =>
    every(works, (session) => {
      const continued = view(session);
      for (const node of history(placeOf(session).node)) node.state = undefined;
      expect(view(session)).toStrictEqual(continued);
    }));

  test("continued from any place in the past is the same", () =>
    every(
      works,
      (session) => {
        const { node } = placeOf(session);
        const continued = view(session);
        for (const past of history(node)) {
          for (const one of history(node)) one.state = undefined;
          stateOf(past);
          expect(view(session)).toStrictEqual(continued);
        }
      },
      15,
    ));

  test("read from the store is what it was when written", async () => {
    await fc.assert(
      fc.asyncProperty(works, async (of) => {
        const store = memoryStore();
        const rath = testRath({ implicitForks: "allow", store });
        const made = await play(rath, of);
        for (const session of made) await rath.save(session);
        const other = testRath({ store });
        for (const session of made) expect(view(await other.open(`${session.id}@${session.head}`))).toStrictEqual(view(session));
      }),
      { numRuns: 20 },
    );
  });
});

describe("usage", () => {
  test("counts every ancestor once, over forks, merges, criss-cross and nested work", () =>
    every(works, (session) => {
      const past = history(placeOf(session).node);
      expect(session.usage.input).toBe(spent(past));
      expect(session.usage.usd).toBe(spent(past) / 4);
      expect(session.usage.own.input).toBe(spent(past.filter((node) => node.log.id === session.id)));
    }));

  test("begins at zero where a session is detached, and is added when it is merged back", async () => {
    const session = spend(quiet().session("S"), 4);
    const detached = spend(session.detach(), 2);
    expect([session.detach().usage.input, detached.usage.input, detached.usage.own.input]).toStrictEqual([0, 2, 2]);
    expect((await session.merge(detached)).usage).toMatchObject({ input: 6, own: { input: 4 } });
  });

  test("the mutant that adds up parents is caught", async () => {
    const sum = (node: Node): number => (node.facts.usage?.input ?? 0) + node.parents.reduce((total, parent) => total + sum(parent), 0);
    await expect(every(works, (session) => expect(session.usage.input).toBe(sum(placeOf(session).node)), 2000)).rejects.toThrow();
  });

  test("the mutant that follows first parents is caught", async () => {
    const sum = (node: Node | undefined): number => (node === undefined ? 0 : (node.facts.usage?.input ?? 0) + sum(node.parent));
    await expect(every(works, (session) => expect(session.usage.input).toBe(sum(placeOf(session).node)), 2000)).rejects.toThrow();
  });
});

/** Messages as a first-parent common ancestor would join them: wrong after a merge. */
function mutantMessages(node: Node | undefined): readonly Node[] {
  if (node === undefined) return [];
  const own = node.kind === "message.added" ? [node] : [];
  if (node.kind !== "session.merged") return [...mutantMessages(node.parent), ...own];
  const line = (from: Node | undefined): readonly Node[] => (from === undefined ? [] : [from, ...line(from.parent)]);
  const [receiver, ...others] = node.parents;
  const talk = [...mutantMessages(receiver)];
  for (const other of others) {
    const base = line(other).find((place) => line(receiver).includes(place));
    talk.push(...mutantMessages(other).slice(mutantMessages(base).length));
  }
  return talk;
}

describe("messages after a merge", () => {
  test("are the messages of all ancestors, each once", () =>
    every(talks, (session) => {
      const said = history(placeOf(session).node).filter((node) => node.kind === "message.added");
      const shown = session.messages.map((message) => message.event);
      expect(new Set(shown)).toStrictEqual(new Set(said.map((node) => node.id)));
      expect(shown.length).toBe(said.length);
    }));

  test("begin with the receiver's own and keep each branch's order", () =>
    every(talks, (session) => {
      const { node } = placeOf(session);
      if (node.kind !== "session.merged") return;
      const shown = session.messages.map((message) => message.event);
      const [receiver, ...others] = node.parents.map((parent) => session.at(parent.id).messages.map((message) => message.event));
      expect(shown.slice(0, receiver?.length)).toStrictEqual(receiver);
      const taken = new Set(receiver);
      const suffixes = others.flatMap((other) => other.filter((message) => !taken.has(message) && taken.add(message)));
      expect(shown.slice(receiver?.length)).toStrictEqual(suffixes);
    }));

  test("a first-parent common ancestor, the mutant, shows the other branch twice", async () => {
    const s = quiet().session("S");
    const [a, b] = [s.fork("a").say("A"), s.fork("b").say("B1")];
    const m = await a.merge(b);
    const m2 = await m.merge(b.say("B2"));
    expect(texts(m2)).toStrictEqual(["S", "A", "B1", "B2"]);
    const { node } = placeOf(m2);
    const mutant = mutantMessages(node).map(
      (message) => (message.data(runtimeOf(m2).platform) as { parts: { text: string }[] }).parts[0]?.text,
    );
    expect(mutant).toStrictEqual(["S", "A", "B1", "B1", "B2"]);
    await expect(
      every(talks, (session) => expect(mutantMessages(placeOf(session).node).length).toBe(session.messages.length), 2000),
    ).rejects.toThrow();
  });

  test("of three branches with a partly shared middle show the middle once", async () => {
    const s = quiet().session("S");
    const middle = s.fork("m").say("M");
    const merged = await s
      .fork("a")
      .say("A")
      .merge([middle.fork("b").say("B"), middle.fork("c").say("C")]);
    expect(texts(merged)).toStrictEqual(["S", "A", "M", "B", "C"]);
  });

  test("of a criss-cross show both sides once and in the receiver's order", async () => {
    const s = quiet().session("S");
    const [a, b] = [spend(s.fork("a").say("A"), 1), spend(s.fork("b").say("B"), 2)];
    const [ab, ba] = [await a.fork().merge(b), await b.fork().merge(a)];
    const both = await ab.say("AB").merge(ba.say("BA"));
    expect(texts(both)).toStrictEqual(["S", "A", "B", "AB", "BA"]);
    expect(both.usage.input).toBe(3);
  });

  test("show nothing twice when a branch was detached on the way", async () => {
    const s = quiet().session("S");
    const [a, b] = [s.fork("a").say("A"), s.fork("b").say("B")];
    const both = await a.merge(b);
    const merged = await b.detach().say("D").merge(both);
    expect(texts(merged).sort()).toStrictEqual(["A", "B", "D", "S"]);
  });

  test("do not follow nested work, whose usage counts", async () => {
    const outer = await quiet()
      .session("S")
      .do("work", ({ session }) => spend(session.say("inside"), 5).messages.length);
    expect(outer.output).toBe(2);
    expect(texts(outer)).toStrictEqual(["S"]);
    expect(outer.usage).toMatchObject({ input: 5, own: { input: 0 } });
  });
});

describe("merging", () => {
  test("with itself, an ancestor or something taken in already returns the receiver", () =>
    every(
      talks,
      async (session) => {
        expect(await session.merge(session)).toBe(session);
        for (const event of session.events()) expect(await session.merge(session.at(event.id))).toBe(session);
        expect(await session.merge([])).toBe(session);
      },
      20,
    ));

  test("disjoint branches commutes in content", () =>
    fc.assert(
      fc.asyncProperty(works, works, async (ones, others) => {
        const rath = quiet();
        const s = rath.session("shared");
        const a = (await play({ ...rath, session: () => s.fork("a") }, ones)).at(-1) as Session;
        const b = (await play({ ...rath, session: () => s.fork("b") }, others)).at(-1) as Session;
        const [ab, ba] = [await a.fork().merge(b), await b.fork().merge(a)];
        expect(texts(ab).sort()).toStrictEqual(texts(ba).sort());
        const totals = ({ own: _, ...rest }: Session["usage"]): unknown => rest;
        expect(totals(ab.usage)).toStrictEqual(totals(ba.usage));
        expect(ab.checks.map((check) => check.event).sort()).toStrictEqual(ba.checks.map((check) => check.event).sort());
      }),
      { numRuns: 30 },
    ));

  test("keeps all parents, in order, and leaves out those already there", async () => {
    const s = quiet().session("S");
    const branches = ["a", "b", "c"].map((label) => s.fork(label).say(label));
    const merged = await s.merge([...branches, s, branches[0] as Session], { reason: "all good" });
    expect(merged.id).toBe(s.id);
    const heads = [s, ...branches].map((session) => session.head);
    expect([...merged.events()].at(-1)).toMatchObject({ kind: "session.merged", parents: heads, data: { reason: "all good" } });
    expect(merged.lineage).toMatchObject({ kind: "merge", parents: heads });
  });
});

describe("a refused merge", () => {
  /** Refused by name; neither side has changed, and the receiver goes on without a fork. */
  async function refuses(receiver: Session, other: Session, reason: RegExp): Promise<void> {
    const before = [view(receiver), view(other)];
    const refused = await receiver.merge(other).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "merge.refused", message: expect.stringMatching(reason) });
    expect([view(receiver), view(other)]).toStrictEqual(before);
  }

  test("does not come of a placement where nothing was written", async () => {
    const s = quiet().session("S");
    const local = s.fork("a").to("local");
    const merged = await local.note("again").merge([s.fork("b").to("docker", { image: "a" }), s.fork("e").say("never placed")]);
    expect(merged.placement).toMatchObject({ sandbox: "local" });
    const taken = await s.fork("f").merge(s.fork("g").to("docker", { image: "b" }));
    expect(taken.placement).toMatchObject({ sandbox: "docker", image: "b" });
  });

  test("names the open effect, on either side", async () => {
    const rath = quiet();
    const s = await rath.save(rath.session("S"));
    const answered = s.ask("Which way?");
    const [question] = await pendingOf(rath);
    const open = await rath.open(s.id);
    expect(open).toMatchObject({ status: "waiting", pending: [{ kind: "question", id: question?.id }] });
    const other = s.fork("other").say("x");
    await refuses(other, open, /open effect/);
    await refuses(open, other, /open effect/);
    await rath.decide(question?.id ?? "", { by: "human:test", answer: "left" });
    expect((await (await answered).merge(other)).output).toBe("left");
  });
});

async function pendingOf(rath: Rath): Promise<readonly Pending[]> {
  for (;;) {
    const pending = await rath.pending();
    if (pending.length > 0) return pending;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe("a fork", () => {
  test("shares its prefix by reference, whatever the source does later", () =>
    every(works, (session) => {
      const before = ids(session.events());
      const fork = session.fork("shares");
      expect(placeOf(fork).node.parent).toBe(placeOf(session).node);
      expect(ids(fork.events())).toStrictEqual([...before, fork.head]);
      session.say("later");
      expect(ids(fork.events())).toStrictEqual([...before, fork.head]);
      expect(fork.id).not.toBe(session.id);
    }));

  test("and a rejected branch leave the source as it was", () =>
    every(works, async (session) => {
      const before = view(session);
      const fork = session.fork("other").say("elsewhere").reject("no good");
      await fork.do("more", () => 1);
      expect(view(session)).toStrictEqual(before);
      expect(fork.status).toBe("rejected");
    }));
});
