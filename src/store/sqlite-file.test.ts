import { hash } from "node:crypto";
import {
  closeSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Database, openDatabase } from "../sqlite/driver.ts";
import { migrate, pragma } from "../sqlite/format.ts";
import { branch, collect } from "../testing/store-case.ts";
import { storedChain, storedEvent } from "../testing/stored-event.ts";
import { storeFormat } from "./migrations/migrations.ts";
import { sqliteStore } from "./sqlite.ts";
import { storeOn } from "./sqlite-store.ts";
import type { Store, StoredEvent, TakenRun } from "./store.ts";

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rath-file-"));
  path = join(folder, "deep", "store.db");
});
afterEach(() => rmSync(folder, { recursive: true }));

const dueRun = {
  id: "r",
  key: undefined,
  session: "s",
  workflow: "w",
  status: "queued",
  wakeAt: "2026-01-01T00:00:00.000Z",
};

async function filled(): Promise<StoredEvent[]> {
  const events = storedChain([{ data: "a secret" }, {}], "s");
  await using store = sqliteStore(path);
  await store.append({ branches: [branch(events)] });
  return events;
}

describe("the SQLite file", () => {
  test("is made at the first call, for its owner alone", async () => {
    {
      await using _unused = sqliteStore(path);
    }
    expect(() => statSync(path)).toThrow();
    await using store = sqliteStore(path);
    await store.append({ branches: [branch([storedEvent({ session: "s" })])] });
    expect(statSync(join(folder, "deep")).mode & 0o777).toBe(0o700);
    for (const suffix of ["", "-wal"]) expect(statSync(path + suffix).mode & 0o777).toBe(0o600);
  });

  test("carries our mark, the format and WAL", async () => {
    await filled();
    const database = openDatabase(path);
    expect([pragma(database, "application_id"), pragma(database, "user_version")]).toEqual([
      storeFormat.applicationId,
      storeFormat.steps.length,
    ]);
    expect(database.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
    expect(database.prepare("PRAGMA page_size").get()).toEqual({ page_size: 4096 });
    database.close();
  });

  test("of a newer format is refused unchanged", async () => {
    await filled();
    const database = openDatabase(path);
    database.exec("PRAGMA user_version = 99");
    database.close();
    const before = readFileSync(path);
    await using store = sqliteStore(path);
    await expect(store.blob("00")).rejects.toMatchObject({ code: "store.newer-format", message: expect.stringContaining(path) });
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  test("of another program is refused unchanged", async () => {
    const foreign = join(folder, "foreign.db");
    const database = openDatabase(foreign);
    database.exec("CREATE TABLE users (name TEXT)");
    database.close();
    const before = readFileSync(foreign);
    await using store = sqliteStore(foreign);
    await expect(collect(store.sessions({}))).rejects.toMatchObject({
      code: "store.corrupt",
      message: expect.stringMatching(/foreign\.db.*another program/),
    });
    expect(readFileSync(foreign).equals(before)).toBe(true);
  });

  test.each([
    ["text", "this is no database, only text that is longer than a header"],
    ["short", "SQLite"],
    ["empty", ""],
  ])("that is %s is refused", async (_, content) => {
    const other = join(folder, "other.db");
    writeFileSync(other, content);
    await using store = sqliteStore(other);
    await expect(store.claim("r", "w", 1)).rejects.toMatchObject({ code: "store.corrupt" });
    expect(readFileSync(other, "utf8")).toBe(content);
  });

  test("that is torn is refused", async () => {
    await filled();
    truncateSync(path, 4096 * 3);
    await using store = sqliteStore(path);
    await expect(collect(store.events({ session: "s" }))).rejects.toMatchObject({ code: "store.corrupt" });
  });

  test("that may not be written says so, and that nothing was stored", async () => {
    await filled();
    let opened: Database | undefined;
    await using store = storeOn(path, {}, (file) => {
      opened = openDatabase(file);
      return opened;
    });
    await collect(store.sessions({}));
    opened?.exec("PRAGMA query_only = ON");
    await expect(store.append({ branches: [branch([storedEvent({ session: "t" })])] })).rejects.toMatchObject({
      code: "store.unavailable",
      message: `${path} cannot be written. Nothing was stored. Give this user the right to write to the file and to its folder.`,
    });
    opened?.exec("PRAGMA query_only = OFF");
    expect(await collect(store.events({ session: "t" }))).toEqual([]);
  });

  test("that is missing while its log is there is refused", async () => {
    await using store = sqliteStore(path);
    await store.append({ branches: [branch([storedEvent({ session: "s" })])] });
    copyFileSync(`${path}-wal`, join(folder, "copy.db-wal"));
    await using other = sqliteStore(join(folder, "copy.db"));
    await expect(collect(other.sessions({}))).rejects.toMatchObject({
      code: "store.corrupt",
      message: expect.stringContaining("write-ahead log"),
    });
  });

  test("is brought to a newer format in one transaction", async () => {
    const events = await filled();
    const database = openDatabase(path);
    const steps = [...storeFormat.steps.map(() => "this step is done already"), "CREATE TABLE later (x INTEGER) STRICT"];
    expect(() => migrate(database, path, { ...storeFormat, steps: [...steps, "NOT SQL"] })).toThrow();
    expect(pragma(database, "user_version")).toBe(storeFormat.steps.length);
    expect(database.prepare("SELECT name FROM sqlite_master WHERE name = 'later'").get()).toBeUndefined();
    migrate(database, path, { ...storeFormat, steps });
    migrate(database, path, { ...storeFormat, steps });
    expect(pragma(database, "user_version")).toBe(steps.length);
    database.exec(`PRAGMA user_version = ${storeFormat.steps.length}`);
    database.close();
    await using store = sqliteStore(path);
    expect(await collect(store.events({ session: "s" }))).toHaveLength(events.length);
  });

  test("of the first format is upgraded with its runs, held or parked", async () => {
    mkdirSync(dirname(path));
    const database = openDatabase(path);
    migrate(database, path, { ...storeFormat, steps: storeFormat.steps.slice(0, 1) });
    database.exec(`
      INSERT INTO runs (tenant, project, id, session, workflow, status, wake_at, owner, epoch, lease_expires) VALUES
        ('default', 'default', 'parked', 's', 'w', 'waiting', NULL, NULL, 1, NULL),
        ('default', 'default', 'later', 's', 'w', 'waiting', '2999-01-01T00:00:00.000Z', NULL, 1, NULL),
        ('default', 'default', 'due', 's', 'w', 'waiting', '2026-01-01T00:00:00.000Z', NULL, 4, NULL),
        ('default', 'default', 'dead', 's', 'w', 'running', '2025-01-01T00:00:00.000Z', 'a', 7, 1000),
        ('default', 'default', 'held', 's', 'w', 'running', '2025-01-01T00:00:00.000Z', 'a', 1, ${Date.now() + 60_000})`);
    expect(pragma(database, "user_version")).toBe(1);
    database.close();
    await using store = sqliteStore(path);
    expect((await collect(store.runs({ owner: "a" }))).map(({ id }) => id)).toEqual(["held"]);
    expect(await store.take({ workflows: ["w"], limit: 9 }, "b", 1000)).toMatchObject([
      { row: { id: "dead", owner: "b" }, lease: { epoch: 8, abandoned: true } },
      { row: { id: "due", owner: "b" }, lease: { epoch: 5 } },
    ]);
    await store.append({ branches: [], wake: ["parked"] });
    expect(await store.take({ workflows: ["w"], limit: 9 }, "b", 1000)).toMatchObject([{ row: { id: "parked" } }]);
  });

  test("of a format without a feed is fed by log and position, and goes on from there", async () => {
    const [a, b] = [storedChain([{}, {}, {}], "a"), storedChain([{}, {}], "b")];
    {
      await using store = sqliteStore(path);
      await store.append({ branches: [branch(a.slice(0, 1))] });
      await store.append({ branches: [branch(b)] });
      await store.append({ branches: [branch(a.slice(1), a[0])] });
    }
    const database = openDatabase(path);
    database.exec("DROP TRIGGER frames_fed; DROP TABLE feed; PRAGMA user_version = 2");
    database.close();
    await using store = sqliteStore(path);
    const [c] = storedChain([{}], "b", b[1]);
    await store.append({ branches: [branch([c as StoredEvent], b[1])] });
    const fed = await collect(store.feed({}));
    expect(fed.flatMap(({ events }) => events.map(({ id }) => id))).toEqual([...a, ...b, c].map((event) => event?.id));
  });

  test("feeds each project what is its own, whoever wrote between", async () => {
    await using mine = sqliteStore(path, { project: "mine" });
    await using theirs = sqliteStore(path, { project: "theirs" });
    const events = storedChain([{}, {}, {}], "s");
    for (const [at, event] of events.entries()) {
      await theirs.append({ branches: [branch([storedEvent({ session: `t${at}` })])] });
      await mine.append({ branches: [branch([event], events[at - 1])] });
    }
    const fed = await collect(mine.feed({}));
    expect(fed.flatMap(({ events }) => events.map(({ id }) => id))).toEqual(events.map(({ id }) => id));
    expect(await collect(theirs.feed({}))).toHaveLength(3);
    expect(await collect(mine.feed({ after: await theirs.fedTo() }))).toEqual([]);
  });

  test("is made once by many stores that start together", async () => {
    const stores = Array.from({ length: 8 }, () => sqliteStore(path));
    const written = await Promise.all(stores.map((store, i) => store.append({ branches: [branch([storedEvent({ session: `s${i}` })])] })));
    expect(written.every(({ ok }) => ok)).toBe(true);
    for (const store of stores) expect(await collect(store.sessions({}))).toHaveLength(8);
    for (const store of stores) await store[Symbol.asyncDispose]();
  });

  test("shows each store what the others wrote, and refuses their stale heads", async () => {
    await using a = sqliteStore(path);
    await using b = sqliteStore(path);
    const [root, left] = storedChain([{}, {}], "s") as [StoredEvent, StoredEvent];
    const right = storedEvent({ session: "s", step: 1, parents: [root.id] });
    await a.append({ branches: [branch([root])] });
    expect(await b.append({ branches: [branch([left], root)] })).toEqual({ ok: true });
    const refused = { ok: false, reason: "head", session: "s", head: left.id };
    const beside = storedEvent({ session: "beside" });
    // `a` still believes in `root`: the stale write is refused, the one beside it is not.
    expect(await Promise.all([a.append({ branches: [branch([right], root)] }), a.append({ branches: [branch([beside])] })])).toEqual([
      refused,
      { ok: true },
    ]);
    expect((await collect(a.events({ ids: [left.id, beside.id, right.id] }))).map(({ id }) => id)).toEqual([left.id, beside.id]);
    expect((await collect(b.events({ ids: [beside.id, root.id] }))).map(({ id }) => id)).toEqual([beside.id, root.id]);
  });

  test("is shared by workers that take from stores of their own: each run once, none left", async () => {
    const stores = Array.from({ length: 6 }, () => sqliteStore(path));
    const rows = Array.from({ length: 120 }, (_, i) => ({ ...dueRun, id: `r${i}`, priority: i % 3 }));
    await Promise.all(rows.map((run) => stores[0]?.append({ branches: [], run })));
    const taken: string[] = [];
    const work = async (store: Store, worker: string): Promise<void> => {
      let got: readonly TakenRun[];
      do {
        got = await store.take({ workflows: ["w"], limit: 3 }, worker, 60_000);
        taken.push(...got.map(({ row }) => row.id));
      } while (got.length > 0 && taken.length <= rows.length);
    };
    await Promise.all(stores.map((store, i) => work(store, `worker-${i}`)));
    expect(taken).toHaveLength(rows.length);
    expect(new Set(taken).size).toBe(rows.length);
    for (const store of stores) await store[Symbol.asyncDispose]();
  });

  test("is only read by a worker that finds nothing due", async () => {
    await using store = sqliteStore(path);
    await store.append({ branches: [], run: { ...dueRun, wakeAt: "2999-01-01T00:00:00.000Z" } });
    await store.append({ branches: [], run: { ...dueRun, id: "of another workflow", workflow: "v" } });
    // Whoever writes now has to wait for this transaction, which ends only after the takes.
    const other = openDatabase(path);
    other.exec("BEGIN IMMEDIATE");
    const version = pragma(other, "data_version");
    for (const limit of [0, 16]) expect(await store.take({ workflows: ["w"], limit }, "a", 1000)).toEqual([]);
    other.exec("COMMIT");
    expect(pragma(other, "data_version")).toBe(version);
    other.close();
  });

  test("keeps tenants and projects apart", async () => {
    const stores = [{}, { tenant: "t" }, { project: "p" }].map((options) => sqliteStore(path, options));
    const events = storedChain([{ run: "r" }], "same");
    const run = { id: "r", key: "k", session: "same", workflow: "w", status: "running", wakeAt: undefined };
    for (const store of stores) {
      expect(await collect(store.sessions({}))).toEqual([]);
      expect(await collect(store.events({ ids: [events[0]?.id ?? ""] }))).toEqual([]);
      expect(await store.append({ branches: [branch(events)], run })).toEqual({ ok: true });
      for (const query of [{ session: "same" }, { run: "r" }, { ids: [events[0]?.id ?? ""] }])
        expect(await collect(store.events(query))).toHaveLength(1);
      expect(await collect(store.runs({ key: "k" }))).toHaveLength(1);
      expect(await store.claim("r", "w", 1000)).toMatchObject({ epoch: 1 });
    }
    for (const store of stores) await store[Symbol.asyncDispose]();
  });

  test("has no trace of what was erased, removed or swept, once it is scrubbed", async () => {
    await using store = sqliteStore(path, { durability: "relaxed" });
    // Logs that grow beside each other: rows are inserted between others, pages are split, and SQLite leaves copies of rows it moved.
    const textOf = (log: number, at: number): string => {
      const word = log % 3 === 0 ? `pin-${log}-${at} ` : "ordinary ";
      return word.padEnd(20 + ((log * 37 + at * 101) % 900), word);
    };
    const logs = Array.from({ length: 40 }, (_, log) =>
      storedChain(
        Array.from({ length: 25 }, (_, at) => ({ data: textOf(log, at) })),
        `s${log}`,
      ),
    );
    for (let at = 0; at < 25; at++)
      for (const events of logs) await store.append({ branches: [branch(events.slice(at, at + 1), events[at - 1])], relaxed: true });
    const blob = Buffer.from("secret blob");
    await store.append({ branches: [], blobs: [{ hash: hash("sha256", blob), bytes: blob }] });
    const found = (): boolean => ["", "-wal", "-shm"].some((suffix) => /pin-\d|secret blob/.test(readFileSync(path + suffix, "latin1")));
    expect(found()).toBe(true);
    const secret = logs.filter((_, log) => log % 3 === 0);
    await store.erase?.(
      secret
        .slice(2)
        .flat()
        .map(({ id }) => id),
      "e".repeat(64),
    );
    const removed = secret.slice(0, 2).map((events) => ({ session: events[0]?.session ?? "", head: events.at(-1)?.id ?? "" }));
    expect(await store.remove?.(removed)).toBe(true);
    const later = new Date(Date.now() + 60_000).toISOString();
    await collect((store as Required<Store>).sweep({ before: later, dryRun: false, keeping: async () => () => false }));
    expect(await store.scrub?.()).toBe(true);
    expect(found()).toBe(false);
    for (const session of ["s1", "s6"]) expect(await collect(store.events({ session }))).toHaveLength(25);
    expect(await collect(store.sessions({}))).toHaveLength(38);
  });

  test("cannot be scrubbed while another process reads what was erased", async () => {
    const events = storedChain([{ data: "pin-1234" }], "s");
    await using store = storeOn(path, {}, openDatabase, 100);
    await store.append({ branches: [branch(events)] });
    const reader = openDatabase(path);
    reader.exec("BEGIN");
    reader.prepare("SELECT count(*) FROM frames").get();
    await store.erase?.([events[0]?.id ?? ""], "e".repeat(64));
    expect(await store.scrub?.()).toBe(false);
    reader.exec("COMMIT");
    reader.close();
    expect(await store.scrub?.()).toBe(true);
    expect(readFileSync(path).includes("pin-1234") || readFileSync(`${path}-wal`).includes("pin-1234")).toBe(false);
  });

  test("tells which log is damaged when a frame does not fit its place", async () => {
    await filled();
    const database = openDatabase(path);
    database.exec("UPDATE frames SET place = place + 1");
    database.close();
    await using store = sqliteStore(path);
    await expect(collect(store.events({ session: "s" }))).rejects.toMatchObject({
      code: "store.corrupt",
      details: { log: "s", position: 1 },
    });
    // It is listed all the same, so that others are.
    expect(await collect(store.sessions({}))).toMatchObject([{ id: "s", head: "" }]);
  });

  // Mutant: the feed ends at what is damaged.
  test("feeds what lies behind a damaged frame, and says which log is damaged", async () => {
    const [a, b] = [storedChain([{}], "a"), storedChain([{}, {}], "b")];
    {
      await using store = sqliteStore(path);
      await store.append({ branches: [branch(a), branch(b)] });
    }
    const database = openDatabase(path);
    database.exec("UPDATE frames SET body = zeroblob(length(body)) WHERE place = (SELECT min(place) FROM frames)");
    database.close();
    await using store = sqliteStore(path);
    const [damaged, whole, ...rest] = await collect(store.feed({}));
    expect(damaged).toMatchObject({ events: [], problem: { code: "store.corrupt", details: { log: "a" } } });
    expect([whole?.events.map(({ id }) => id), whole?.problem, rest]).toEqual([b.map(({ id }) => id), undefined, []]);
    expect(await collect(store.feed({ after: damaged?.place }))).toHaveLength(1);
  });

  test("tells which blob is damaged", async () => {
    await using store = sqliteStore(path);
    const name = "ab".repeat(32);
    await store.append({ branches: [], blobs: [{ hash: name, bytes: Buffer.from("not what the name says") }] });
    await expect(store.blob(name)).rejects.toMatchObject({ code: "store.corrupt", message: expect.stringContaining(name) });
  });

  test("in a folder that cannot be written is unavailable or refused by the system", async () => {
    const blocker = join(folder, "file");
    closeSync(openSync(blocker, "w"));
    await using store = sqliteStore(join(blocker, "store.db"));
    await expect(collect(store.sessions({}))).rejects.toThrow();
  });
});
