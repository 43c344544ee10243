/** Retention while others work: whoever comes to need an old session keeps it, though nothing is appended to it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { kept } from "../../test/support/other-process.ts";
import { dropSchemas, freshSchema, sharedPostgres } from "../../test/support/postgres.ts";
import { verify } from "../audit/verify.ts";
import { Workflow } from "../index.ts";
import { composeRath } from "../openrath.ts";
import type { Session } from "../session/session.ts";
import { memoryStore } from "../store/memory.ts";
import { postgresStore } from "../store/postgres.ts";
import { sqliteStore } from "../store/sqlite.ts";
import type { Store } from "../store/store.ts";
import { collect } from "../testing/store-case.ts";
import { nodePlatform } from "./platform.ts";
import type { Rath } from "./rath.ts";
import { RetentionLogs } from "./retention-logs.ts";

const folder = mkdtempSync(join(tmpdir(), "rath-retention-races-"));
afterAll(() => rmSync(folder, { recursive: true }));

class Work extends Workflow {
  override async forward(session: Session): Promise<Session> {
    const side = await session.fork("side").do("side", () => 1);
    return (await session.do("work", () => 2)).merge(side);
  }
}
class Asks extends Workflow {
  override forward(session: Session): Promise<Session> {
    return session.ask("May I?");
  }
}
const workflows = { work: new Work(), asks: new Asks() };
const day = 86_400_000;

/** A store and its clock, and processes on it. The clock of a database server cannot be put back: there all else is put forward. */
interface World {
  readonly store: Store;
  at(days: number): void;
  process(store?: Store): Rath;
}

function worldOn(open: (clock: () => number) => Store): World {
  const start = Date.now();
  let now = start;
  const store = open(() => now);
  const platform = { ...nodePlatform, time: () => new Date(now++).toISOString() };
  return {
    store,
    at: (days) => {
      now = start + days * day;
    },
    process: (on = store) => composeRath({ store: kept(on), workflows, implicitForks: "allow" }, { platform }),
  };
}

async function openWorld(kind: string): Promise<World> {
  if (kind === "memory") return worldOn((clock) => memoryStore({ clock }));
  if (kind === "sqlite") return worldOn((clock) => sqliteStore(join(folder, `${freshSchema()}.db`), { clock }));
  const [url, schema] = [await sharedPostgres(), freshSchema()];
  onTestFinished(() => dropSchemas(url, [schema]));
  return worldOn(() => postgresStore(url, { schema }));
}

/** The same store, where somebody does something just before logs are removed, as often as they are. */
function interrupted(store: Store, meanwhile: () => Promise<unknown>): Store {
  const remove: Store["remove"] = async (logs, options) => {
    await meanwhile();
    return (store as Required<Store>).remove(logs, options);
  };
  return { ...store, remove };
}

/** What one process made alone: what others made does not hang together with it. */
async function saved(rath: Rath, text: string): Promise<Session> {
  await using open = rath;
  return await open.session(text).do("x", () => 1);
}

const once = (work: () => Promise<unknown>): (() => Promise<unknown>) => {
  let done: Promise<unknown> | undefined;
  return () => {
    done ??= work();
    return done;
  };
};

/** Ways to need an old session without appending to it. */
const needs: Readonly<Record<string, (user: Rath, old: Session) => Promise<string>>> = {
  "queues a run on it": async (user, old) => (await user.run("work", old, { queue: true })).id,
  "detaches from it": async (user, old) => (await user.save(old.detach().say("new life"))).id,
  "merges it": async (user, old) => {
    const mine = await user.session("mine").do("mine", () => 3);
    return (await user.save(await mine.merge(old))).id;
  },
};

describe.each(["memory", "sqlite", "postgres"])("while retention decides on %s, somebody", (kind) => {
  test.each(Object.keys(needs))("%s: it stays, and what they made works", async (how) => {
    const { store, at, process } = await openWorld(kind);
    await using _ = store;
    const [old, gone] = [await saved(process(), "old"), await saved(process(), "nobody needs this")];
    at(100);
    const user = process();
    const opened = await user.open(old.id);
    let made = "";
    const meanwhile = once(async () => {
      made = (await needs[how]?.(user, opened)) ?? "";
    });
    await using cleaner = process(interrupted(store, meanwhile));
    const report = await cleaner.gc({ sessionsOlderThan: "90d" });
    await user.close();
    expect(report.sessions).toEqual([gone.id]);
    expect(report.open).toEqual([]);
    await using later = process();
    if (how === "queues a run on it") expect((await (await later.attach(made)).input()).id).toBe(old.id);
    else expect(await verify(await later.open(made))).toMatchObject({ problems: [] });
    expect(await verify(await later.open(old.id))).toMatchObject({ problems: [] });
  });
});

describe.each(["gc", "erase"])("retention that died before it removed anything, finished by %s,", (by) => {
  test.each(Object.keys(needs))("leaves what somebody needs since: %s", async (how) => {
    const { store, at, process } = worldOn((clock) => memoryStore({ clock }));
    const [old, gone] = [await saved(process(), "old"), await saved(process(), "nobody needs this")];
    at(100);
    const dies = { ...store, remove: () => Promise.reject(new Error("died")) };
    await using died = process(dies);
    await expect(died.gc({ sessionsOlderThan: "90d" })).rejects.toThrow("died");
    await using user = process();
    const made = await needs[how]?.(user, await user.open(old.id));
    await using later = process();
    if (by === "gc") expect((await later.gc()).finished).toHaveLength(1);
    else await later.erase({ matching: "nothing" }, { by: "human:ada", reason: "asked to" });
    await expect(later.open(gone.id)).rejects.toMatchObject({ code: "session.not-found" });
    expect(await verify(await later.open(old.id))).toMatchObject({ problems: [] });
    if (how !== "queues a run on it") expect(await verify(await later.open(made ?? ""))).toMatchObject({ problems: [] });
  });
});

describe("retention", () => {
  async function oldWorld(): Promise<World & { readonly old: Session }> {
    const world = worldOn((clock) => memoryStore({ clock }));
    const old = await saved(world.process(), "old");
    world.at(100);
    return { ...world, old };
  }

  test("says that the store is too busy when others append again and again, and removes nothing", async () => {
    const { store, process, old } = await oldWorld();
    await using user = process();
    let times = 0;
    const busy = interrupted(store, async () => user.save(user.session(`new ${times++}`)));
    await using rath = process(busy);
    await expect(rath.gc({ sessionsOlderThan: "90d" })).rejects.toMatchObject({
      code: "store.conflict",
      retryable: true,
      message: expect.stringContaining("too busy"),
    });
    expect(times).toBeGreaterThan(1);
    expect(await verify(await user.open(old.id))).toMatchObject({ problems: [] });
    // Nothing is left for whoever finishes erasures: what was announced was taken back.
    expect((await user.gc()).finished).toEqual([]);
    expect((await user.gc({ sessionsOlderThan: "90d" })).sessions).toEqual([old.id]);
  });

  test("sees what comes while it reads", async () => {
    const { store, process, old } = await oldWorld();
    await using user = process();
    const opened = await user.open(old.id);
    const queue = once(() => user.run("work", opened, { queue: true }));
    const runs: Store["runs"] = async function* (query) {
      yield* store.runs(query);
      await queue();
    };
    await using rath = process({ ...store, runs });
    expect(await rath.gc({ sessionsOlderThan: "90d" })).toMatchObject({ sessions: [], held: [old.id] });
    expect(await verify(await user.open(old.id))).toMatchObject({ problems: [] });
  });

  test("reads a store once, however often others append", async () => {
    const { store, process, old } = await oldWorld();
    await using user = process();
    let [times, reads] = [0, 0];
    const busy = interrupted(store, async () => {
      if (times++ < 4) await user.save(user.session("new"));
    });
    const events: Store["events"] = (query) => {
      if ("session" in query && query.session === old.id) reads++;
      return store.events(query);
    };
    await using rath = process({ ...busy, events });
    expect((await rath.gc({ sessionsOlderThan: "90d" })).sessions).toEqual([old.id]);
    expect({ times, reads }).toEqual({ times: 5, reads: 1 });
  });

  test("decides anew when somebody else lets the same sessions go", async () => {
    const { store, process, old } = await oldWorld();
    const meanwhile = once(async () => {
      const logs = (await collect(store.sessions({}))).filter(({ log }) => log !== "erasure");
      const places = logs.map(({ id, head }) => ({ session: id, head }));
      expect(await (store as Required<Store>).remove(places)).toBe(true);
    });
    await using rath = process(interrupted(store, meanwhile));
    expect(await rath.gc({ sessionsOlderThan: "90d" })).toMatchObject({ sessions: [], held: [], open: [] });
    await expect(rath.open(old.id)).rejects.toMatchObject({ code: "session.not-found" });
  });
});

test("who reads on knows what one knows who reads everything", async () => {
  const { store, at, process } = worldOn((clock) => memoryStore({ clock }));
  await using rath = process();
  const reading = await new RetentionLogs(nodePlatform, store).read();
  const start = Date.now();
  const agree = async (): Promise<void> => {
    await reading.readOn();
    const fresh = await new RetentionLogs(nodePlatform, store).read();
    for (const days of [1, 15, 25, 35, 45, 55, 100]) {
      const age = { before: new Date(start + days * day).toISOString() };
      const [one, two] = [reading.unneeded(age), fresh.unneeded(age)];
      expect([...one.removed].sort()).toEqual([...two.removed].sort());
      expect([...one.held].sort()).toEqual([...two.held].sort());
      expect(reading.placesOf([...one.removed].sort())).toEqual(fresh.placesOf([...one.removed].sort()));
    }
  };
  const settled = async (name: string, session: Session): Promise<Session> => (await (await rath.run(name, session)).settle()).session;
  const first = await settled("work", rath.session("first"));
  await agree();
  at(10);
  const asking = await rath.run("asks", rath.session("second"));
  await asking.settle();
  await agree();
  at(20);
  for (const { id } of await rath.pending()) await rath.decide(id, { by: "human:ada", answer: "yes" });
  await agree();
  const answered = (await asking.settle()).session;
  await agree();
  at(30);
  await rath.save((await rath.open(first.id)).detach().say("again"));
  await agree();
  at(40);
  await rath.save(await (await rath.session("third").do("x", () => 1)).merge(answered));
  await agree();
  at(50);
  await rath.run("work", await rath.open(first.id), { queue: true });
  await agree();
  expect((await collect(store.sessions({}))).length).toBeGreaterThan(8);
});
