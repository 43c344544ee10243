/** What cannot be done with a run, on every store that outlives a process: a typed error, and nothing is changed. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openDatabase } from "../../src/sqlite/driver.ts";
import { postgresStore } from "../../src/store/postgres.ts";
import { sqliteStore } from "../../src/store/sqlite.ts";
import type { Store } from "../../src/store/store.ts";
import { Flow } from "../support/flow.ts";
import { all } from "../support/memory.ts";
import { otherProcess } from "../support/other-process.ts";
import { ownSchemas, withClient } from "../support/postgres.ts";

const flow = new Flow((session) => session.do("x", () => 1));
const asking = new Flow((session) => session.ask("Well?"), "asking");
let folder = "";
let url = "";
const freshSchema = ownSchemas((shared) => {
  url = shared;
});
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-bad-runs-"));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

interface Place {
  open(options?: { readonly migrate?: boolean }): Store;
  /** Says that the data has another format, and which it had. */
  format(version: number): Promise<number>;
}

let files = 0;
const places: Readonly<Record<string, () => Place>> = {
  SQLite: () => {
    const path = join(folder, `${files++}.db`);
    return {
      open: () => sqliteStore(path),
      format: async (version) => {
        const database = openDatabase(path);
        const was = database.prepare<{ user_version: number }>("PRAGMA user_version").get()?.user_version ?? 0;
        database.exec(`PRAGMA user_version = ${version}`);
        database.close();
        return was;
      },
    };
  },
  PostgreSQL: () => {
    const schema = freshSchema();
    return {
      open: (options) => postgresStore(url, { schema, ...options }),
      format: (version) =>
        withClient(url, async (client) => {
          const { rows } = await client.query<{ version: number }>(`SELECT version FROM "${schema}".formats WHERE family = 'store'`);
          await client.query(`UPDATE "${schema}".formats SET version = ${version} WHERE family = 'store'`);
          return rows[0]?.version ?? 0;
        }),
    };
  },
};

/** Every run, log and event. */
async function everything(store: Store): Promise<unknown> {
  const logs = await all(store.sessions({}));
  const events = await Promise.all(logs.map(async ({ id }) => (await all(store.events({ session: id }))).map((event) => event.id)));
  return { runs: await all(store.runs({})), logs, events };
}

describe.each(Object.entries(places))("on %s", (_, place) => {
  test("cancelling a run that has ended is refused, however it ended", async () => {
    await using store = place().open();
    await using rath = otherProcess(store, { workflows: { flow, asking } });
    const done = await rath.run(flow, rath.session());
    await done.result();
    const failed = await rath.run(new Flow(() => Promise.reject(new Error("no")), "failing"), rath.session());
    await failed.settle();
    const cancelled = await rath.run("asking", rath.session(), { queue: true });
    await cancelled.cancel("not needed");
    expect(await cancelled.settle()).toMatchObject({ status: "cancelled", reason: "not needed" });
    await expect(cancelled.result()).rejects.toMatchObject({ code: "run.cancelled", message: expect.stringContaining("not needed") });
    const before = await everything(store);
    for (const { id } of [done, failed, cancelled])
      await expect((await rath.attach(id)).cancel("again")).rejects.toMatchObject({ code: "run.ended", details: { run: id } });
    expect(await everything(store)).toEqual(before);
  });

  test("resuming a run whose workflow is missing is refused, and it is left for whoever has it", async () => {
    await using store = place().open();
    await using first = otherProcess(store, { workflows: { asking } });
    const run = await first.run(asking, first.session());
    const settled = await run.settle();
    await first.close();
    const before = await everything(store);
    await using other = otherProcess(store, { workflows: { flow } });
    await expect(other.resume(run.id)).rejects.toMatchObject({ code: "run.unknown-workflow", details: { workflow: "asking" } });
    expect(await everything(store)).toEqual(before);
    await using last = otherProcess(store, { workflows: { asking } });
    const [pending] = settled.status === "waiting" ? settled.pending : [];
    await last.decide(pending?.id ?? "", { by: "human:ada", answer: "yes" });
    expect((await (await last.resume(run.id)).result()).output).toBe("yes");
  });

  test("a decision for an unknown, an answered or an expired question is refused", async () => {
    await using store = place().open();
    await using rath = otherProcess(store, {
      workflows: { asking, soon: new Flow((session) => session.ask("Soon?", undefined, { expires: "20ms" }), "soon") },
    });
    const late = await rath.run("soon", rath.session());
    await expect(late.result()).rejects.toMatchObject({ code: expect.stringMatching(/expired|run\.failed/) });
    const run = await rath.run(asking, rath.session());
    const settled = await run.settle();
    const [pending] = settled.status === "waiting" ? settled.pending : [];
    await rath.decide(pending?.id ?? "", { by: "human:ada", answer: "yes" });
    await run.result();
    const { session } = await late.settle();
    const question = [...session.events()].find(({ kind }) => kind === "ask.called")?.id ?? "";
    const before = await everything(store);
    const answer = { by: "human:eve", answer: "no" };
    await expect(rath.decide("0".repeat(64), answer)).rejects.toMatchObject({ code: "pending.not-found" });
    await expect(rath.decide(pending?.id ?? "", answer)).rejects.toMatchObject({ code: "pending.answered" });
    await expect(rath.decide(question, answer)).rejects.toMatchObject({ code: "pending.answered" });
    expect(await everything(store)).toEqual(before);
  });

  test("a worker whose version is older than the data ends with an error, and takes nothing", async () => {
    const here = place();
    await using store = here.open();
    await using client = otherProcess(store);
    const run = await client.run("flow", client.session(), { queue: true });
    const before = await everything(store);
    const format = await here.format(99);
    await using old = otherProcess(here.open(), { workflows: { flow } });
    await expect(old.work()).rejects.toMatchObject({ code: "store.newer-format" });
    expect(await here.format(format)).toBe(99);
    expect(await everything(store)).toEqual(before);
    expect(await run.status()).toBe("queued");
  });
});

test("a worker that may not change an older PostgreSQL schema ends with an error and the command to run, and makes nothing", async () => {
  const schema = freshSchema();
  await using worker = otherProcess(postgresStore(url, { schema, migrate: false }), { workflows: { flow } });
  await expect(worker.work()).rejects.toMatchObject({
    code: "store.older-format",
    message: expect.stringContaining("openrath db migrate"),
  });
  const found = await withClient(url, (client) => client.query("SELECT 1 FROM pg_namespace WHERE nspname = $1", [schema]));
  expect(found.rows).toEqual([]);
});
