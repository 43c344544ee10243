/** A workflow shows others a value on its way, and they go on with it: what is its own stays its own, and nobody waits for good. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { Flow } from "../../test/support/flow.ts";
import { cut, mortal, process, stopped } from "../../test/support/processes.ts";
import { begun, parentsOf, recorded, said, says, texts } from "../../test/support/said.ts";
import type { Session } from "../session/session.ts";
import { memoryStore } from "../store/memory.ts";
import type { Store, Write } from "../store/store.ts";
import { replay } from "./replay.ts";

afterEach(stopped);

const safe = { repeat: "safe" } as const;

/** The store, which takes longer for what says this, the first time. */
function slowOnce(store: Store, text: string): Store {
  let slow = true;
  const append = async (write: Write) => {
    if (slow && says(write, text)) {
      slow = false;
      await sleep(60);
    }
    return store.append(write);
  };
  return { ...store, append };
}

/** One value on its way from a workflow to somebody else. */
function shown(): { readonly value: Promise<Session>; show(value: Session): void } {
  let show: (value: Session) => void = () => {};
  const value = new Promise<Session>((resolve) => {
    show = resolve;
  });
  return { value, show: (given) => show(given) };
}

// Mutant: whoever waits for others writes nothing before.
test("a draft that is being saved, a workflow on it, and a fork of what that has: all are saved, and so is what comes later", async () => {
  const store = memoryStore();
  const here = process(slowOnce(store, "other"));
  const base = await here.save(here.session("begin"));
  const other = here.save(here.session("other"));
  await sleep(5);
  const draft = base.say("draft");
  const saving = here.save(draft);
  const { value, show } = shown();
  const flow = new Flow(async (session) => {
    show(session);
    return session.do("work", () => 1, safe);
  });
  const running = flow.forward(draft.say("go"));
  const forked = here.save((await value).fork("f").say("forked"));
  const all = await Promise.all([other, saving, running, forked]);
  expect(all.map(texts)).toEqual([["other"], ["begin", "draft"], ["begin", "draft", "go"], ["begin", "draft", "go", "forked"]]);
  expect(texts(await here.save(here.session("later")))).toEqual(["later"]);
});

// Mutant: as above; they called each other until the stack was full.
test("two workflows merge what the other one has on its way, and both end", async () => {
  const here = process(memoryStore());
  const base = await here.save(here.session("begin"));
  const [left, right] = [shown(), shown()];
  const merging = (name: string, mine: typeof left, theirs: typeof left): Flow =>
    new Flow(async (session) => {
      const first = session.do(`one ${name}`, () => 1, safe);
      const busy = [1, 2, 3, 4].map((each) => session.fork(`${each}`).do("busy", () => each, safe));
      const one = await first;
      mine.show(one);
      const two = (await one.merge(await theirs.value)).do(`two ${name}`, () => 2, safe);
      await Promise.all(busy);
      return (await two).say(`end ${name}`);
    });
  const ended = await Promise.all([merging("a", left, right).forward(base.fork("a")), merging("b", right, left).forward(base.fork("b"))]);
  expect(ended.map(texts)).toEqual([
    ["begin", "end a"],
    ["begin", "end b"],
  ]);
});

// Mutant: whoever writes first what a workflow said is who said it.
test.each(["forward", "run"] as const)("what came while a %s had to move is written, and so is what others made of it", async (how) => {
  const store = memoryStore();
  const { here, id, more } = await begun(store, slowOnce(store, "draft"));
  const draft = (await here.open(id)).say("draft");
  await more("theirs");
  const { value, show } = shown();
  const flow = new Flow(async (session) => {
    const one = await session.do("one", () => 1, safe);
    await sleep(10); // the first write is under way
    const inside = one.say("in");
    show(inside);
    await sleep(5);
    return inside.do("outer", () => 2);
  });
  const running = how === "forward" ? flow.forward(draft) : here.run(flow, draft).then((run) => run.result());
  const forked = value.then((inside) => here.save(inside.fork("f").say("forked")));
  expect(texts(await running)).toEqual(["begin", "draft", "in"]);
  expect(texts(await forked)).toEqual(["begin", "draft", "in", "forked"]);
  expect(await said(store, "in")).toBe(1);
  expect(await replay(await process(store).open((await running).id), flow)).toMatchObject({ identical: true });
});

// Mutant: what came while a write was refused is tried again with it.
test("what came while a workflow had to move, and stands on what others are about to write, is written after that", async () => {
  const store = memoryStore();
  const known = new Set<string>();
  const early: string[] = [];
  const watched: Store = {
    ...store,
    append: async (write) => {
      for (const text of ["draft", "other"]) if (says(write, text)) await sleep(text === "other" ? 150 : 60);
      const written = await store.append(write);
      if (!written.ok) return written;
      const events = write.branches.flatMap((branch) => branch.events);
      for (const { id } of events) known.add(id);
      early.push(...events.flatMap(parentsOf).filter((id) => !known.has(id)));
      return written;
    },
  };
  const { here, id, more } = await begun(store, watched);
  const base = await here.open(id);
  const draft = base.say("draft");
  for (const { id: event } of base.events()) known.add(event);
  await more("theirs");
  const other = here.session("other");
  const saving = here.save(other);
  const flow = new Flow(async (session) => {
    const one = await session.do("one", () => 1, safe);
    await sleep(10); // the first write is under way
    return one.merge(other);
  });
  const merged = await flow.forward(draft);
  await saving;
  expect(texts(merged)).toContain("other");
  expect(early).toEqual([]);
});

// Mutant: whoever writes first what a workflow said is who said it.
test("a run whose value somebody forked and saved is resumed and replayed: what it said there is on its record", async () => {
  const store = memoryStore();
  const dying = cut(store);
  const here = mortal(dying.store);
  const base = await here.save(here.session("begin"));
  const { value, show } = shown();
  let isAlive = true;
  let worked = 0;
  const flow = new Flow(async (session) => {
    const inside = (await session.do("one", () => 1, safe)).say("in");
    show(inside);
    await sleep(20);
    const two = await inside.do("two", () => ++worked);
    if (isAlive) await new Promise(() => {});
    return two.say("end");
  });
  const { id } = await here.run(flow, base);
  await here.save((await value).fork("f").say("forked"));
  // What it did is on record: it worked once, and nobody has to say so.
  await expect.poll(() => recorded(store, "do.returned"), { interval: 5, timeout: 10_000 }).toBe(2);
  dying.cut();
  isAlive = false;
  await sleep(450); // its lease is over
  const again = await process(store, { workflows: { flow } }).resume(id);
  const result = await again.result();
  expect(texts(result)).toEqual(["begin", "in", "end"]);
  expect(worked).toBe(1);
  expect(await replay(result, flow)).toMatchObject({ identical: true });
});
