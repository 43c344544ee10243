import { hash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { kept } from "../../test/support/other-process.ts";
import { dropSchemas, freshSchema, sharedPostgres } from "../../test/support/postgres.ts";
import { verify } from "../audit/verify.ts";
import { Workflow } from "../index.ts";
import { composeRath } from "../openrath.ts";
import { RathError } from "../session/errors.ts";
import type { Session } from "../session/session.ts";
import { memoryStore } from "../store/memory.ts";
import { postgresStore } from "../store/postgres.ts";
import { sqliteStore } from "../store/sqlite.ts";
import type { Store } from "../store/store.ts";
import { collect } from "../testing/store-case.ts";
import { nodePlatform } from "./platform.ts";
import type { Rath } from "./rath.ts";

const folder = mkdtempSync(join(tmpdir(), "rath-retention-"));
afterAll(() => rmSync(folder, { recursive: true }));

class Ask extends Workflow {
  override forward(session: Session): Promise<Session> {
    return session.ask("May I?", z.string());
  }
}
class Quiet extends Workflow {
  override async forward(session: Session): Promise<Session> {
    return session.say("again");
  }
}
class Work extends Workflow {
  override async forward(session: Session): Promise<Session> {
    const side = await session.fork("side").do("side", () => "s".repeat(5000));
    return (await session.do("work", () => 1)).merge(side);
  }
}

interface Ageing {
  readonly rath: Rath;
  readonly store: Store;
  /** Another process on the same store. */
  another(): Rath;
  at(day: number): void;
}

/** A Rath and a store whose clocks stand where they are put. The clock of a database server does not: they begin with it. */
function ageing(open: (clock: () => number) => Store): Ageing {
  const start = Date.now();
  let now = start;
  const platform = { ...nodePlatform, time: () => new Date(now++).toISOString() };
  const store = open(() => now);
  const another = (): Rath =>
    composeRath({ store: kept(store), workflows: { ask: new Ask(), work: new Work(), quiet: new Quiet() } }, { platform });
  const at = (day: number): void => {
    now = start + day * 86_400_000;
  };
  return { rath: another(), store, another, at };
}

const ended = async (rath: Rath, workflow: string, session: Session): Promise<Session> =>
  (await (await rath.run(workflow, session)).settle()).session;

const dayOf = (session: Session): string | undefined => [...session.events()].at(-1)?.at.slice(0, 10);

describe("retention", () => {
  test("lets old sessions go with their runs, keeps what others need, and what stays verifies", async () => {
    const { rath, store, at } = ageing((clock) => memoryStore({ clock }));
    await using _ = rath;
    const old = await ended(rath, "work", rath.session("old"));
    const kept = await ended(rath, "work", rath.session("kept", { tags: ["keep"] }));
    const base = await ended(rath, "work", rath.session("base"));
    const waiting = await rath.run("ask", rath.session("waits"));
    await waiting.settle();
    at(100);
    const fork = await ended(rath, "work", base.fork("young"));
    const would = await rath.gc({ sessionsOlderThan: "90d", keepTag: "keep", dryRun: true });
    expect(would.sessions).toContain(old.id);
    expect(would).toMatchObject({ dryRun: true, entry: undefined, blobs: 0 });
    expect(would.held).toContain(base.id);
    const report = await rath.gc({ sessionsOlderThan: "90d", keepTag: "keep", by: "human:ada" });
    expect({ ...report, dryRun: true, entry: undefined }).toEqual(would);
    expect(report.sessions).toHaveLength(2); // and its side branch
    await expect(rath.open(old.id)).rejects.toMatchObject({ code: "session.not-found" });
    expect(await collect(rath.runs())).toHaveLength(4);
    for (const { id } of [kept, base, fork])
      expect(await verify(await rath.open(id))).toMatchObject({ ok: true, problems: [], unsigned: 0 });
    expect((await rath.pending()).length).toBe(1);
    expect((await rath.gc({ sessionsOlderThan: "90d", keepTag: "keep" })).sessions).toEqual([]);
    // What the session held is named by others too; once nobody does, it goes.
    expect(await store.blob(hash("sha256", JSON.stringify("s".repeat(5000))))).toBeUndefined();
    at(300);
    await waiting.cancel();
    await waiting.settle();
    at(500);
    const last = await rath.gc({ sessionsOlderThan: "90d" });
    expect(last).toMatchObject({ held: [], blobs: 1 });
    expect((await collect(store.sessions({}))).every(({ log }) => log === "erasure")).toBe(true);
    expect(await collect(store.runs({}))).toEqual([]);
  });

  test("by tag takes those alone; a session that is continued meanwhile stays", async () => {
    const { rath, at } = ageing((clock) => memoryStore({ clock }));
    await using _ = rath;
    const tagged = await ended(rath, "work", rath.session("a", { tags: ["test"] }));
    const other = await ended(rath, "work", rath.session("b"));
    at(10);
    expect((await rath.gc({ sessionsOlderThan: "5d", tag: "test", dryRun: true })).sessions).toContain(tagged.id);
    await rath.save((await rath.open(tagged.id)).say("again"));
    expect((await rath.gc({ sessionsOlderThan: "5d", tag: "test" })).sessions).not.toContain(tagged.id);
    expect(await verify(await rath.open(other.id))).toMatchObject({ ok: true });
    for (const options of [
      { tag: "x" },
      { sessionsOlderThan: "5m" },
      { olderThan: "1m" },
      { sessionsOlderThan: "soon" },
      { dryRun: 1 },
      { tga: "x" },
    ])
      await expect(rath.gc(options as never)).rejects.toMatchObject({ code: "value.unsupported" });
  });

  test.each(["fork", "detach", "merge", "merge into it", "say in a workflow"])(
    "counts from when a session was made or changed: %s",
    async (how) => {
      const { rath, another, at } = ageing((clock) => memoryStore({ clock }));
      await using _ = rath;
      const [a, b] = [await ended(rath, "work", rath.session("a")), await ended(rath, "work", rath.session("b"))];
      at(100);
      // What a workflow says has no time of its own: it has that of what it was made of.
      const change = async (now: Rath): Promise<Session> => {
        const [one, two] = [await now.open(a.id), await now.open(b.id)];
        if (how === "say in a workflow") return ended(now, "quiet", one);
        if (how === "merge into it") return one.merge(two);
        return how === "fork" ? one.fork("young") : how === "detach" ? one.detach() : one.fork("young").merge(two);
      };
      const changing = another();
      const young = await change(changing);
      await changing.save(young);
      expect(dayOf(young) === dayOf(b)).toBe(how === "say in a workflow");
      // Until its process signs, nothing but the store tells when; a log that was there before is known by what is signed.
      if (how === "merge into it") await changing[Symbol.asyncDispose]();
      at(110);
      const { sessions, held } = await rath.gc({ sessionsOlderThan: "90d" });
      expect([...sessions, ...held]).not.toContain(young.id);
      expect(await verify(await rath.open(young.id))).toMatchObject({ problems: [] });
      await changing[Symbol.asyncDispose]();
      at(300);
      expect((await rath.gc({ sessionsOlderThan: "90d" })).sessions).toContain(young.id);
    },
  );

  test("is not done before the files are clean", async () => {
    let full = true;
    const scrub = async (): Promise<boolean> => {
      if (full) throw new RathError("store.unavailable", "database or disk is full");
      return true;
    };
    const { rath, at } = ageing((clock) => ({ ...memoryStore({ clock }), scrub }));
    await using _ = rath;
    const old = await ended(rath, "work", rath.session("old"));
    at(100);
    const { entry, sessions } = await rath.gc({ sessionsOlderThan: "90d" });
    expect(sessions).toContain(old.id);
    expect((await rath.gc()).finished).toEqual([]);
    full = false;
    expect((await rath.gc()).finished).toEqual([entry]);
    expect((await rath.gc()).finished).toEqual([]);
  });

  test.each(["sqlite", "postgres"])("and erasing work the same on %s", async (kind) => {
    const url = kind === "sqlite" ? "" : await sharedPostgres();
    const schema = freshSchema();
    if (url !== "") onTestFinished(() => dropSchemas(url, [schema]));
    const { rath, store, at } = ageing((clock) =>
      kind === "sqlite" ? sqliteStore(join(folder, "store.db"), { clock }) : postgresStore(url, { schema }),
    );
    await using __ = store;
    await using _ = rath;
    const old = await ended(rath, "work", rath.session("old"));
    const said = await ended(rath, "work", rath.session("My name is Ann Smith", { title: "Ann Smith" }));
    at(50);
    const young = await ended(rath, "work", rath.session("young"));
    const report = await rath.erase({ matching: "Ann Smith" }, { by: "human:ada", reason: "asked to" });
    expect(report).toMatchObject({ scrubbed: true, left: kind === "sqlite" ? [] : [{ what: "table" }] });
    expect((await collect(store.sessions({ id: said.id })))[0]?.title).toBeUndefined();
    expect(await verify(await rath.open(said.id))).toMatchObject({ ok: true, problems: [], erased: 2, unsigned: 0 });
    expect((await rath.gc({ sessionsOlderThan: "30d" })).sessions).toContain(old.id);
    await expect(rath.open(old.id)).rejects.toMatchObject({ code: "session.not-found" });
    expect(await verify(await rath.open(young.id))).toMatchObject({ ok: true, problems: [] });
  });
});
