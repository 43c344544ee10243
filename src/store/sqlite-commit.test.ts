import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Database, type OpenDatabase, openDatabase, type Statement } from "../sqlite/driver.ts";
import { pragma } from "../sqlite/format.ts";
import { branch, collect } from "../testing/store-case.ts";
import { storedEvent } from "../testing/stored-event.ts";
import { type SqliteOptions, storeOn } from "./sqlite-store.ts";
import type { Store } from "./store.ts";

const off = 0;
const normal = 1;
const full = 2;
const event = () => storedEvent({ session: `${Math.random()}` });

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rath-commit-"));
  path = join(folder, "store.db");
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A driver that notes at each commit what SQLite will do about syncing it. */
function observed(rewrite: (sql: string) => string = (sql) => sql): { readonly levels: number[]; readonly open: OpenDatabase } {
  const levels: number[] = [];
  const open: OpenDatabase = (file) => {
    const database = openDatabase(file);
    const watched: Database = {
      exec: (sql) => database.exec(rewrite(sql)),
      close: () => database.close(),
      prepare<R>(sql: string): Statement<R> {
        const statement = database.prepare<R>(sql);
        if (sql !== "COMMIT") return statement;
        return {
          ...{ get: statement.get, all: statement.all },
          run: () => {
            levels.push(pragma(database, "synchronous"));
            return statement.run();
          },
        };
      },
    };
    return watched;
  };
  return { levels, open };
}

function observedStore(
  options: SqliteOptions = {},
  rewrite?: (sql: string) => string,
): { readonly store: Store; readonly levels: number[] } {
  const { levels, open } = observed(rewrite);
  return { store: storeOn(path, options, open), levels };
}

/** Kill -9 cannot show a missing fsync; the level at commit does. */
async function unsyncedAppends(rewrite?: (sql: string) => string): Promise<number> {
  const { store, levels } = observedStore({}, rewrite);
  for (let i = 0; i < 5; i++) await store.append({ branches: [branch([event()])] });
  const seen = [...levels];
  await store[Symbol.asyncDispose]();
  expect(seen).toHaveLength(5);
  return seen.filter((level) => level < full).length;
}

describe("commits of the SQLite store", () => {
  test("appends of one turn share one", async () => {
    const { store, levels } = observedStore();
    const written = await Promise.all(Array.from({ length: 64 }, () => store.append({ branches: [branch([event()])] })));
    expect(written.every(({ ok }) => ok)).toBe(true);
    expect(levels).toEqual([full]);
    expect(await collect(store.sessions({}))).toHaveLength(64);
    await store[Symbol.asyncDispose]();
  });

  test("one append that cannot be stored does not fail those beside it", async () => {
    const { store } = observedStore();
    const run = { id: "r", key: undefined, session: "s", workflow: null as unknown as string, status: "running", wakeAt: undefined };
    const [good, bad, other] = await Promise.allSettled([
      store.append({ branches: [branch([event()])] }),
      store.append({ branches: [branch([event()])], run }),
      store.append({ branches: [branch([event()])] }),
    ]);
    expect([good?.status, bad?.status, other?.status]).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(await collect(store.sessions({}))).toHaveLength(2);
    await store[Symbol.asyncDispose]();
  });

  test("are synced before an append is acknowledged", async () => {
    expect(await unsyncedAppends()).toBe(0);
  });

  test("without sync are caught (mutant: synchronous = OFF)", async () => {
    expect(await unsyncedAppends((sql) => sql.replaceAll("synchronous = FULL", "synchronous = OFF"))).toBe(5);
  });

  test("with synchronous = NORMAL are caught too (mutant)", async () => {
    expect(await unsyncedAppends((sql) => sql.replaceAll("synchronous = FULL", "synchronous = NORMAL"))).toBe(5);
  });

  test("of a relaxed store are synced unless every write in them is relaxed", async () => {
    const { store, levels } = observedStore({ durability: "relaxed" });
    const relaxed = () => store.append({ branches: [branch([event()])], relaxed: true });
    const sync = () => store.append({ branches: [branch([event()])] });
    await relaxed();
    await sync();
    await Promise.all([relaxed(), relaxed()]);
    await Promise.all([relaxed(), sync()]);
    expect(levels).toEqual([normal, full, normal, full]);
    expect(levels).not.toContain(off);
    await store[Symbol.asyncDispose]();
  });

  test("of a sync store are synced whatever a write asks", async () => {
    const { store, levels } = observedStore();
    await store.append({ branches: [branch([event()])], relaxed: true });
    expect(levels).toEqual([full]);
    await store[Symbol.asyncDispose]();
  });

  test("wait while another process holds the file", async () => {
    await using store = storeOn(path, {}, openDatabase);
    await store.append({ branches: [branch([event()])] });
    const other = openDatabase(path);
    other.exec("BEGIN IMMEDIATE");
    let settled = false;
    const waiting = Promise.all([event(), event()].map((one) => store.append({ branches: [branch([one])] }))).finally(() => {
      settled = true;
    });
    await sleep(200);
    expect(settled).toBe(false);
    other.exec("COMMIT");
    other.close();
    expect(await waiting).toEqual([{ ok: true }, { ok: true }]);
  });

  test("give up with an error that may be retried", async () => {
    await using store = storeOn(path, {}, openDatabase, 100);
    await store.append({ branches: [branch([event()])] });
    const other = openDatabase(path);
    other.exec("BEGIN IMMEDIATE");
    await expect(store.append({ branches: [branch([event()])] })).rejects.toMatchObject({ code: "store.unavailable", retryable: true });
    expect(await collect(store.sessions({}))).toHaveLength(1);
    other.exec("ROLLBACK");
    other.close();
    expect(await store.append({ branches: [branch([event()])] })).toEqual({ ok: true });
  });

  test("do not wait for a reader in the middle of a stream", async () => {
    await using store = storeOn(path, {}, openDatabase);
    const events = Array.from({ length: 40 }, () => storedEvent({ session: "s", data: "x".repeat(20_000) }));
    for (const [i, one] of events.entries()) await store.append({ branches: [branch([one], events[i - 1])] });
    const stream = store.events({ session: "s" })[Symbol.asyncIterator]();
    await stream.next();
    const other = openDatabase(path);
    const checkpoint = other.prepare<{ busy: number; log: number; checkpointed: number }>("PRAGMA wal_checkpoint(RESTART)").get();
    expect(checkpoint?.busy).toBe(0);
    other.close();
    let rest = 0;
    while (!(await stream.next()).done) rest++;
    expect(rest).toBe(39);
  });
});
