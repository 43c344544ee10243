/** Values that nobody has saved yet are held here while somebody else continues their session. */
import * as fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { Flow } from "../../test/support/flow.ts";
import { process, stopped } from "../../test/support/processes.ts";
import { begun, orphans, said, texts } from "../../test/support/said.ts";
import type { Session } from "../session/session.ts";
import { memoryStore } from "../store/memory.ts";
import type { Store } from "../store/store.ts";
import { replay } from "./replay.ts";

afterEach(stopped);

describe("while something unsaved is held", () => {
  test("opening a session gives what others have made of it, and what is held stays what it was", async () => {
    const { here, id, more } = await begun();
    const draft = (await here.open(id)).say("draft");
    const theirs = await more("theirs");
    const opened = await here.open(id);
    expect([opened.head, texts(opened), texts(draft)]).toEqual([theirs.head, ["begin", "theirs"], ["begin", "draft"]]);
    const saved = await here.save(draft);
    expect([saved.id === id, texts(saved)]).toEqual([false, ["begin", "draft"]]);
    expect(texts(await opened.merge(saved))).toEqual(["begin", "theirs", "draft"]);
  });

  test("a run of somebody else is attached to, and its session opened", async () => {
    const store = memoryStore();
    const { here, there, id } = await begun(store);
    const draft = (await here.open(id)).say("draft");
    const flow = new Flow((session) => session.do("work", () => "done"));
    const run = await there.run(flow, (await there.open(id)).say("theirs"), { key: "once" });
    await run.result();
    expect((await (await here.attach(run.id)).result()).output).toBe("done");
    expect(texts(draft)).toEqual(["begin", "draft"]);
  });

  test.each(["opened", "saved"])("what stands on it goes with it once the session was %s, and is written once", async (how) => {
    const store = memoryStore();
    const { here, id, more } = await begun(store);
    const draft = (await here.open(id)).say("draft");
    const held = {
      forked: draft.fork("f").say("forked"),
      deeper: draft.fork("f").fork("g").say("deeper"),
      detached: draft.detach().say("detached"),
    };
    const before = Object.fromEntries(Object.entries(held).map(([name, session]) => [name, texts(session)]));
    await more("theirs");
    if (how === "opened") await here.open(id);
    else await here.save(draft);
    const saved = Object.fromEntries(
      await Promise.all(Object.entries(held).map(async ([name, session]) => [name, await here.save(session)] as const)),
    );
    expect(Object.fromEntries(Object.entries(saved).map(([name, session]) => [name, texts(session)]))).toEqual(before);
    const elsewhere = process(store);
    for (const session of Object.values(saved)) expect(texts(await elsewhere.open(session.id))).toEqual(texts(session));
    expect(await said(store, "draft")).toBe(1);
  });

  test("a run that is taken up here leaves it alone (mutant: what is not written of its logs is forgotten)", async () => {
    const { here, id } = await begun();
    let branch = "";
    const flow = new Flow(async (session) => {
      const worked = await session.fork("b").do("work", () => "done");
      branch = worked.id;
      return (await session.ask("go on?")).merge(await worked.do("more", () => "more"));
    });
    const run = await here.run(flow, await here.open(id));
    const settled = await run.settle();
    const draft = (await here.open(branch)).say("draft");
    const question = settled.status === "waiting" ? settled.pending[0] : undefined;
    await here.decide(question?.id as string, { by: "human:test", answer: "yes" });
    expect(texts(await (await run.result()).merge(draft))).toContain("draft");
  });

  test.each(["run", "forward"] as const)(
    "%s begins on something that is being saved and has to move (mutants: it goes on with what was; its input is not told)",
    async (how) => {
      const store = memoryStore();
      const { here, id, more } = await begun(store);
      const draft = (await here.open(id)).say("draft");
      await more("theirs");
      const flow = new Flow(async (session) => session.say("worked"));
      const [saved, done] = await Promise.all([
        here.save(draft),
        how === "forward" ? flow.forward(draft.say("go")) : here.run(flow, draft.say("go")).then((run) => run.result()),
      ]);
      expect([texts(saved), texts(done)]).toEqual([
        ["begin", "draft"],
        ["begin", "draft", "go", "worked"],
      ]);
      const opened = await process(store).open(done.id);
      expect([opened.head, texts(opened)]).toEqual([done.head, texts(done)]);
      expect((await replay(opened, flow)).identical).toBe(true);
      expect(await said(store, "draft")).toBe(1);
    },
  );

  test("what a workflow let out of a run that was left is saved as it was, each line for itself", async () => {
    const store = memoryStore();
    const { here, id } = await begun(store);
    const letOut: Session[] = [];
    const flow = new Flow(async (session) => {
      const worked = await session.do("work", () => "done");
      letOut.push(worked.say(`let out ${letOut.length}`));
      return worked.ask("go on?");
    });
    const run = await here.run(flow, await here.open(id));
    for (let lives = 1; lives <= 5; lives++) {
      expect((await run.settle()).status).toBe("waiting");
      expect(letOut).toHaveLength(lives);
      await here.resume(run.id);
    }
    const [one, two, three, four, five] = letOut as [Session, Session, Session, Session, Session];
    const outside = async (text: string): Promise<Session> => here.save((await here.open(id)).say(text));
    // Three at one place, at once, beside something that is held there; then others after the session went on, twice.
    const draft = (await here.open(id)).say("draft");
    const saved = await Promise.all([here.save(one), here.save(two), here.save(three)]);
    saved.push(await here.save(draft));
    await outside("more");
    saved.push(await here.save(four));
    await outside("and more");
    saved.push(await here.save(five));
    const elsewhere = process(store);
    const found = await Promise.all(saved.map(async (session) => texts((await elsewhere.open(session.id)).at(session.head))));
    expect(found).toEqual([one, two, three, draft, four, five].map(texts));
    for (const text of found) expect(await said(store, text.at(-1) as string), text.at(-1)).toBe(1);
  });

  // Mutant: what stands on something that was moved is written on what that was.
  test.each(["in its line", "as a fork"])(
    "what a workflow let out, and what stands on it %s, are saved one after the other",
    async (how) => {
      const store = memoryStore();
      const { here, id } = await begun(store);
      const letOut: Session[] = [];
      const flow = new Flow(async (session) => {
        const worked = await session.do("work", () => "done");
        const one = worked.say("one");
        if (letOut.length === 0) letOut.push(one, (how === "in its line" ? one : one.fork("f")).say("two"));
        return worked.ask("go on?");
      });
      const run = await here.run(flow, await here.open(id));
      expect((await run.settle()).status).toBe("waiting");
      await here.save((await here.open(id)).say("outside"));
      const saved: Session[] = [];
      for (const session of letOut) saved.push(await here.save(session));
      expect(saved.map(texts)).toEqual(letOut.map(texts));
      expect(texts(saved[1] as Session).slice(-2)).toEqual(["one", "two"]);
      expect([await orphans(store), await said(store, "one"), await said(store, "two")]).toEqual([[], 1, 1]);
    },
  );

  // Mutant: what comes is linked behind what was said here since reading began.
  test.each(["before its first event", "after its first event", "while what it stands on is looked for"])(
    "a session that is continued here while it is being opened gives what others made of it (%s)",
    async (where) => {
      const store = memoryStore();
      let [parent, at] = ["", (_where: string): void => {}];
      const watched: Store = {
        ...store,
        sessions: async function* (query) {
          for await (const session of store.sessions(query)) {
            if (query.id === parent) at("while what it stands on is looked for");
            yield session;
          }
        },
        events: async function* (query) {
          at("before its first event");
          for await (const event of store.events(query)) {
            yield event;
            at("after its first event");
          }
        },
      };
      const [there, here] = [process(store), process(watched)];
      const root = await there.save(there.session("begin"));
      parent = root.id;
      const { id } = await there.save(root.fork("f").say("forked"));
      const held = await here.open(id);
      for (const text of ["one", "two", "three"]) await there.save((await there.open(id)).say(text));
      const drafts: Session[] = [];
      at = (now) => {
        if (now === where && drafts.length === 0) drafts.push(held.say("draft"));
      };
      const opened = await here.open(id);
      at = () => {};
      expect(texts(opened)).toEqual(["begin", "forked", "one", "two", "three"]);
      expect(drafts.map(texts)).toEqual([["begin", "forked", "draft"]]);
      expect(texts(await opened.merge(drafts[0] as Session))).toEqual(["begin", "forked", "one", "two", "three", "draft"]);
      expect([await orphans(store), await said(store, "draft")]).toEqual([[], 1]);
    },
  );

  test("laws: a value says what it said; each event is written once; every session is open to all", async () => {
    const step = fc.oneof(
      fc.record({ do: fc.constantFrom("say", "fork", "detach", "save", "work", "merge"), at: fc.nat(20), with: fc.nat(20) }),
      fc.record({ do: fc.constantFrom("open", "theirs"), at: fc.constant(0), with: fc.constant(0) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 14 }), async (steps) => {
        const store = memoryStore();
        const { here, id, more } = await begun(store);
        const values = [await here.open(id)];
        const were = [texts(values[0] as Session)];
        const made = async (verb: string, value: Session, other: Session, name: string): Promise<Session> => {
          if (verb === "open") return here.open(id);
          if (verb === "merge") return value.merge(other);
          if (verb === "work") return value.do(name, () => name);
          return (verb === "say" ? value : verb === "fork" ? value.fork() : value.detach()).say(name);
        };
        for (const [index, { do: verb, at, with: and }] of steps.entries()) {
          const [value, other] = [values[at % values.length], values[and % values.length]] as [Session, Session];
          if (verb === "theirs") await more(`theirs ${index}`);
          else if (verb === "save") await here.save(value);
          else {
            const next = await made(verb, value, other, `ours ${index}`);
            values.push(next);
            were.push(texts(next));
          }
        }
        expect(values.map(texts)).toEqual(were);
        const elsewhere = process(store);
        for (const [index, value] of values.entries()) {
          const saved = await here.save(value);
          expect(texts(saved), `value ${index}`).toEqual(were[index]);
          expect(texts((await elsewhere.open(saved.id)).at(saved.head)), `value ${index}, elsewhere`).toEqual(were[index]);
        }
        for (const [index, { do: verb }] of steps.entries())
          if (verb === "say" || verb === "fork" || verb === "detach") expect(await said(store, `ours ${index}`)).toBe(1);
        await stopped();
      }),
      { numRuns: Number(globalThis.process.env["HELD_RUNS"] ?? 150) },
    );
  });
});
