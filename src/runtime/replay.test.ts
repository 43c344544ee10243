import { describe, expect, test } from "vitest";
import { Flow } from "../../test/support/flow.ts";
import { otherProcess } from "../../test/support/other-process.ts";
import { Agent } from "../agent/agent.ts";
import { scripted } from "../model/scripted.ts";
import { composeRath } from "../openrath.ts";
import type { Session } from "../session/session.ts";
import { memoryStore } from "../store/memory.ts";
import { replay } from "./replay.ts";

function memory() {
  return composeRath({ store: "memory", implicitForks: "allow" }, { times: { stillReplayMs: 30, closeMs: 50, parkGraceMs: 1 } });
}

describe("replay", () => {
  test("refuses the name of a workflow, and what is none", async () => {
    await using rath = memory();
    const done = await new Flow((session) => session.do("a", () => 1)).forward(rath.session("go"));
    await expect(replay(done, "flow" as never)).rejects.toMatchObject({
      code: "value.unsupported",
      message: expect.stringMatching(/^workflow is "flow": give the workflow itself/),
    });
    await expect(replay(done, undefined as never)).rejects.toMatchObject({ message: expect.stringMatching(/^workflow is undefined: /) });
  });

  test("calls nothing, writes nothing, and finds the same program identical", async () => {
    await using rath = memory();
    let calls = 0;
    const flow = new Flow(async (session) => {
      const ends = await Promise.all(["a", "b", "c"].map((label) => session.fork(label).do(label, () => ++calls)));
      return (ends[0] as Session).merge(ends.slice(1));
    });
    const done = await flow.forward(rath.session("go"));
    const report = await replay(done, flow);
    expect(report).toMatchObject({ identical: true, events: 13 });
    expect(String(report)).toContain("nothing called");
    expect(calls).toBe(3);
    expect((await rath.open(done.id)).head).toBe(done.head);
  });

  test("writes nothing either when frames that it left behind go on (mutant: a merge or a save of theirs counts as one outside any run)", async () => {
    const store = memoryStore();
    let appends = 0;
    const counting = new Proxy(store, {
      get: (target, name) => {
        if (name === "append") appends++;
        const member: unknown = Reflect.get(target, name);
        return typeof member === "function" ? member.bind(target) : member;
      },
    });
    const rath = composeRath({ store: counting, implicitForks: "allow" }, { times: { stillReplayMs: 30, closeMs: 50, parkGraceMs: 1 } });
    let later = Promise.resolve();
    let left = 0;
    const flow = new Flow(async (session) => {
      const [a, b] = [session.fork("a").note("a"), session.fork("b").note("b")];
      for (const goOn of [() => a.merge(b), () => rath.save(b)]) void later.then(goOn).then(() => left++);
      return session.say("done");
    });
    const done = await flow.forward(rath.session("go"));
    appends = 0;
    let goOn = (): void => {};
    later = new Promise((resolve) => {
      goOn = resolve;
    });
    left = 0;
    expect((await replay(done, flow)).identical).toBe(true);
    goOn();
    await new Promise((resolve) => setTimeout(resolve, 20));
    await rath.close();
    expect({ appends, left }).toEqual({ appends: 0, left: 0 });
  });

  test.each([
    ["another message", (s: Session) => s.say("Hello").do("x", () => 1, { input: { n: 1 } }), "parts.0.text", "Hi", "Hello"],
    ["another input", (s: Session) => s.say("Hi").do("x", () => 1, { input: { n: 2 } }), "input.n", 1, 2],
    ["another name", (s: Session) => s.say("Hi").do("y", () => 1, { input: { n: 1 } }), "name", "x", "y"],
    ["another verb", (s: Session) => s.say("Hi").check("x", () => true), "kind", "do.called", "check.called"],
    ["another repeat class", (s: Session) => s.say("Hi").do("x", () => 1, { input: { n: 1 }, repeat: "safe" }), "repeat", "once", "safe"],
  ])("reports %s with the field and both sides", async (_, changed, field, expected, got) => {
    await using rath = memory();
    const done = await new Flow((session) => session.say("Hi").do("x", () => 1, { input: { n: 1 } })).forward(rath.session());
    expect(await replay(done, new Flow(changed))).toMatchObject({ identical: false, field, expected, got });
  });

  test("reports what is missing and what is new", async () => {
    await using rath = memory();
    const two = new Flow(async (session) => (await session.do("a", () => 1)).do("b", () => 2));
    const one = new Flow((session) => session.do("a", () => 1));
    const missing = await replay(await two.forward(rath.session()), one);
    expect(missing).toMatchObject({ identical: false, at: { kind: "do.called" } });
    const extra = await replay(await one.forward(rath.session()), two);
    expect(extra).toMatchObject({ identical: false });
    expect(String(extra)).toContain('"b"');
  });

  test("a renamed workflow is reported as a rename, not as a divergence", async () => {
    await using rath = memory();
    const named = (name: string) => Object.assign(new Flow((session) => session.do("x", () => 1)), { name });
    const done = await named("before").forward(rath.session());
    const report = await replay(done, named("after"));
    expect(report).toMatchObject({ identical: true, renamed: [{ from: "before", to: "after" }] });
    expect(String(report)).toContain('"before" is now "after"');
  });

  test("a failed run replays to the same failure", async () => {
    await using rath = memory();
    const flow = (message: string) =>
      new Flow(async (session) => {
        await session.do("a", () => 1);
        throw new Error(message);
      });
    const start = await rath.save(rath.session("go"));
    await flow("first")
      .forward(start)
      .catch(() => {});
    const after = await rath.open(start.id);
    expect(await replay(after, flow("first"))).toMatchObject({ identical: true });
    expect(await replay(after, flow("second"))).toMatchObject({ identical: false, field: "message" });
  });

  test("takes the newest run on the line, or the one that holds a step", async () => {
    await using rath = memory();
    const one = new Flow((session) => session.do("one", () => 1));
    const two = new Flow((session) => session.do("two", () => 2));
    const first = await one.forward(rath.session());
    const second = await two.forward(first);
    expect((await replay(second, two)).identical).toBe(true);
    expect((await replay(second, one)).identical).toBe(false);
    expect((await replay(second, one, { from: first.step })).identical).toBe(true);
  });

  // Mutant: what causes no effect counts as new although nothing came after it that it could be written with.
  test.each(["waits", "was cancelled"])(
    "finds a run that %s identical, also where a branch ended with what is not written",
    async (how) => {
      await using rath = memory();
      const agent = new Agent({ name: "a", model: scripted("hello") });
      const flow = (more: (session: Session) => Session | Promise<Session>): Flow =>
        new Flow(async (session) => {
          const both = [session.fork("p").ask("go?"), agent.forward(session.fork("q")).then(more)] as const;
          return (await both[0]).merge(await both[1]);
        });
      const same = flow((session) => session.note("last words"));
      const run = await rath.run(same, rath.session("go"));
      const waiting = await run.settle();
      if (how === "was cancelled") await run.cancel("enough");
      const { session } = how === "was cancelled" ? await run.settle() : waiting;
      expect(String(await replay(session, same))).toMatch(/^identical/);
      // One more effect is no last word; what is named is where the program leaves its record.
      const more = flow((before) => before.note("last words").do("more", () => 1));
      expect(await replay(session, more)).toMatchObject({
        identical: false,
        at: { kind: "model.returned" },
        got: { kind: "agent.stopped" },
      });
      const less = flow((before) => before.fork("other"));
      expect((await replay(session, less)).identical).toBe(true);
      expect((await replay(session, new Flow((only) => only.fork("p").ask("go?")))).identical).toBe(false);
    },
  );

  // Mutant: of a run that ended, too, what causes no effect is passed over.
  test("tells of a run that ended what is new, although it causes no effect", async () => {
    await using rath = memory();
    const start = await rath.save(rath.session("go"));
    const flow = (then: (session: Session) => Promise<Session>) => new Flow(async (session) => then(await session.do("x", () => 1)));
    const failing = flow(() => Promise.reject(new Error("no")));
    await expect(failing.forward(start)).rejects.toThrow("no");
    const waits = flow((session) => new Promise(() => session.note("new")));
    const got = { kind: "note.added", text: "new" };
    expect(await replay(await rath.open(start.id), waits)).toMatchObject({ identical: false, got });
  });

  // Mutants: a branch beyond its record goes on in an implicit fork (and loses its label); every verb there begins one; a fork, too.
  test("what is made and dropped stands where it stood, on the branches of the record and on others", async () => {
    await using rath = memory();
    const seen: unknown[] = [];
    const see = ({ step, lineage, messages }: Session): void =>
      void seen.push([step, lineage.label, lineage.implicit, messages.map(({ text }) => text)]);
    const flow = new Flow(async (session) => {
      const done = await session.fork("work").do("x", () => 1);
      const asked = await session
        .fork("asked")
        .say("a")
        .do("y", () => 2);
      const [first, second] = [done.say("1").say("2"), done.say("3").say("4")];
      const tried = session.fork("try").say("5").say("6");
      for (const each of [first, second, tried, first.merge(tried), second.merge(asked), done.merge(asked), session.fork("m").merge(asked)])
        see(await each);
      return asked;
    });
    const done = await flow.forward(rath.session("go"));
    const live = seen.splice(0);
    expect(live.map((each) => (each as unknown[])[1])).toEqual(["work", undefined, "try", "work", undefined, undefined, "m"]);
    expect(String(await replay(done, flow))).toMatch(/^identical/);
    expect(seen).toEqual(live);
  });

  // Mutant: a merge that nothing follows is made on an implicit fork, a step further.
  test("a merge that is made and dropped stands where it stood", async () => {
    await using rath = memory();
    const flow = new Flow(async (session) => {
      const [left, right] = await Promise.all(["left", "right"].map((label) => session.fork(label).do(label, () => label)));
      const merged = await (left as Session).merge([right as Session]);
      return merged
        .at(merged.step - 1)
        .fork("past")
        .do("look", () => 1);
    });
    expect(String(await replay(await flow.forward(rath.session("go")), flow))).toMatch(/^identical/);
  });

  // Mutant: what is on record of the second is given to the first alone.
  test.each<[string, (left: Session, right: Session) => Session | Promise<Session>]>([
    ["merge", (left, right) => left.merge([right])],
    ["say", (left) => left.say("x")],
  ])("%s may be asked for twice at one place, and the first time for nothing", async (_, verb) => {
    await using rath = memory();
    const flow = new Flow(async (session) => {
      const [left, right] = (await Promise.all(["left", "right"].map((label) => session.fork(label).do(label, () => label)))) as [
        Session,
        Session,
      ];
      await verb(left, right);
      return (await verb(left, right)).do("look", () => 1);
    });
    expect(String(await replay(await flow.forward(rath.session("go")), flow))).toMatch(/^identical/);
  });

  // Mutant: a replay goes on in the logs that others hold.
  test("leaves the branches that others hold as they are, and is the same again", async () => {
    const store = memoryStore();
    await using first = otherProcess(store);
    const made: Session[] = [];
    const flow = new Flow(async (session) => {
      const done = await session.fork("b").do("x", () => 1);
      made.push(done.note("dropped").note("dropped too"));
      return session.do("y", () => 2);
    });
    const { id } = await flow.forward(first.session("go"));
    const branch = made[0]?.id as string;
    await using rath = otherProcess(store, {}, { stillReplayMs: 30 });
    const [done, held] = [await rath.open(id), await rath.open(branch)];
    for (let times = 0; times < 2; times++) expect(String(await replay(done, flow))).toMatch(/^identical/);
    expect(made.map(({ id: on, step }) => [on, step])).toEqual(made.map(() => [branch, held.step + 2]));
    expect((await rath.open(branch)).head).toBe(held.head);
    // Who goes on with it goes on with itself, and what comes after the run is nothing to its replay.
    const next = await held.do("next", () => 3);
    expect([next.id, next.step, next.lineage.implicit]).toEqual([branch, held.step + 2, false]);
    expect(String(await replay(done, flow))).toMatch(/^identical/);
    expect([made.at(-1)?.id, made.at(-1)?.step]).toEqual([branch, held.step + 2]);
    expect((await rath.open(branch)).head).toBe(next.head);
  });

  test("of something no workflow made says so", async () => {
    await using rath = memory();
    const session = await rath.session().do("bare", () => 1);
    await expect(replay(session, new Flow(async (s) => s))).rejects.toMatchObject({ code: "run.not-recorded" });
  });
});
