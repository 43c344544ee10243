import { hash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
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
class Work extends Workflow {
  override async forward(session: Session): Promise<Session> {
    const side = await session.fork("side").do("side", () => "s".repeat(5000));
    return (await session.do("work", () => 1)).merge(side);
  }
}

/** A Rath whose clock stands where it is put. */
function ageing(store: Store): { readonly rath: Rath; at(day: number): void } {
  let now = Date.parse("2026-01-01T00:00:00.000Z");
  const platform = { ...nodePlatform, time: () => new Date(now++).toISOString() };
  const rath = composeRath({ store, workflows: { ask: new Ask(), work: new Work() } }, { platform });
  const at = (day: number): void => {
    now = Date.parse("2026-01-01T00:00:00.000Z") + day * 86_400_000;
  };
  return { rath, at };
}

const ended = async (rath: Rath, workflow: string, session: Session): Promise<Session> =>
  (await (await rath.run(workflow, session)).settle()).session;

describe("retention", () => {
  test("lets old sessions go with their runs, keeps what others need, and what stays verifies", async () => {
    const store = memoryStore({ clock: () => Date.parse("2025-01-01") });
    const { rath, at } = ageing(store);
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
    const store = memoryStore();
    const { rath, at } = ageing(store);
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

  test("is not done before the files are clean", async () => {
    const store = memoryStore();
    let full = true;
    const scrub = async (): Promise<boolean> => {
      if (full) throw new RathError("store.unavailable", "database or disk is full");
      return true;
    };
    const { rath, at } = ageing({ ...store, scrub });
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
    const store = kind === "sqlite" ? sqliteStore(join(folder, "store.db")) : postgresStore(url, { schema });
    if (url !== "") onTestFinished(() => dropSchemas(url, [schema]));
    const { rath, at } = ageing(store);
    await using _ = rath;
    const old = await ended(rath, "work", rath.session("old"));
    const said = await ended(rath, "work", rath.session("My name is Ann Smith", { title: "Ann Smith" }));
    at(50);
    const young = await ended(rath, "work", rath.session("young"));
    const report = await rath.erase({ matching: "Ann Smith" }, { by: "human:ada", reason: "asked to" });
    expect(report).toMatchObject({ scrubbed: true, left: [] });
    expect((await collect(store.sessions({ id: said.id })))[0]?.title).toBeUndefined();
    expect(await verify(await rath.open(said.id))).toMatchObject({ ok: true, problems: [], erased: 2, unsigned: 0 });
    expect((await rath.gc({ sessionsOlderThan: "30d" })).sessions).toContain(old.id);
    await expect(rath.open(old.id)).rejects.toMatchObject({ code: "session.not-found" });
    expect(await verify(await rath.open(young.id))).toMatchObject({ ok: true, problems: [] });
  });
});
