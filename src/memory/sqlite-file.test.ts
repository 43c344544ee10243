import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Database, type OpenDatabase, openDatabase, type Statement } from "../sqlite/driver.ts";
import { pragma } from "../sqlite/format.ts";
import { sqliteStore } from "../store/sqlite.ts";
import { item, keys, put, search } from "../testing/memory-case.ts";
import { collect } from "../testing/store-case.ts";
import { sqliteMemory } from "./sqlite.ts";
import { memoryFormat } from "./sqlite-format.ts";
import { memoryOn } from "./sqlite-memory.ts";

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rath-memory-file-"));
  path = join(folder, "deep", "memory.db");
});
afterEach(() => rmSync(folder, { recursive: true }));

const first = item("tests", "run npm test");
const noVectors = () => false;

async function filled(): Promise<void> {
  await using store = sqliteMemory(path);
  await put(store, first);
}

describe("the file of a memory", () => {
  test("is made by the first write, for its owner alone; reading makes none", async () => {
    await using store = sqliteMemory(path);
    expect(await store.revision()).toBe(0);
    expect(await search(store, "npm")).toEqual([]);
    expect([await collect(store.list({})), await collect(store.uses(first.uri))]).toEqual([[], []]);
    await store.write([]);
    expect(existsSync(join(folder, "deep"))).toBe(false);
    await put(store, first);
    expect(statSync(join(folder, "deep")).mode & 0o777).toBe(0o700);
    for (const suffix of ["", "-wal"]) expect(statSync(path + suffix).mode & 0o777).toBe(0o600);
  });

  test("is seen by a store that read before another made it", async () => {
    await using early = sqliteMemory(path);
    expect(await keys(early, "npm")).toEqual([]);
    await filled();
    expect(await keys(early, "npm")).toEqual(["tests"]);
  });

  test("carries a mark of its own, so neither it nor that of a store is taken for the other", async () => {
    await filled();
    const database = openDatabase(path);
    expect([pragma(database, "application_id"), pragma(database, "user_version")]).toEqual([memoryFormat.applicationId, 1]);
    database.close();
    const refused = { code: "store.corrupt", message: expect.stringMatching(/another program/) };
    await using store = sqliteStore(path);
    await expect(collect(store.sessions({}))).rejects.toMatchObject(refused);
    const other = join(folder, "store.db");
    await using made = sqliteStore(other);
    await collect(made.sessions({}));
    await using memory = sqliteMemory(other);
    await expect(memory.revision()).rejects.toMatchObject(refused);
  });

  test.each([
    ["text", "this is no database, only text that is longer than a header"],
    ["empty", ""],
  ])("that is %s is refused by name, unchanged", async (_, content) => {
    const other = join(folder, "other.db");
    writeFileSync(other, content);
    await using store = sqliteMemory(other);
    const refused = { code: "store.corrupt", message: expect.stringContaining(other) };
    await expect(put(store, first)).rejects.toMatchObject(refused);
    await expect(search(store, "npm")).rejects.toMatchObject(refused);
    expect(readFileSync(other, "utf8")).toBe(content);
  });

  test("that is torn, or gone while its log is there, is refused", async () => {
    await filled();
    truncateSync(path, 4096 * 3);
    await using store = sqliteMemory(path);
    await expect(keys(store, "npm")).rejects.toMatchObject({ code: "store.corrupt", message: expect.stringContaining(path) });
    writeFileSync(join(folder, "gone.db-wal"), "left over");
    await using other = sqliteMemory(join(folder, "gone.db"));
    await expect(other.revision()).rejects.toMatchObject({ code: "store.corrupt", message: expect.stringContaining("write-ahead log") });
  });

  test("of a newer format is refused unchanged", async () => {
    await filled();
    const database = openDatabase(path);
    database.exec("PRAGMA user_version = 99");
    database.close();
    const before = readFileSync(path);
    await using store = sqliteMemory(path);
    await expect(store.revision()).rejects.toMatchObject({ code: "store.newer-format", message: expect.stringContaining(path) });
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  test("names itself when an item in it is damaged", async () => {
    await filled();
    const database = openDatabase(path);
    database.exec("UPDATE bodies SET body = '{'");
    database.close();
    await using store = sqliteMemory(path);
    const refused = { code: "store.corrupt", message: expect.stringContaining(path) };
    await expect(search(store, "npm")).rejects.toMatchObject(refused);
    await expect(collect(store.list({}))).rejects.toMatchObject(refused);
  });

  test("keeps tenants and projects apart, their statistics too", async () => {
    const stores = [{}, { tenant: "t" }, { project: "p" }].map((options) => sqliteMemory(path, options));
    for (const store of stores) {
      expect([await store.revision(), await keys(store, "npm")]).toEqual([0, []]);
      expect((await put(store, first)).revision).toBe(1);
      await store.used([{ uri: first.uri, version: 1, session: "s", event: "e", at: first.at }]);
      expect(await collect(store.uses(first.uri))).toHaveLength(1);
      expect(await collect(store.list({ asOf: "all", events: [first.event] }))).toHaveLength(1);
    }
    for (const store of stores) expect([await keys(store, "npm"), (await collect(store.list({}))).length]).toEqual([["tests"], 1]);
    const scores = await Promise.all(stores.map(async (store) => (await search(store, "npm"))[0]?.score));
    await put(stores[0] as (typeof stores)[0], ...Array.from({ length: 50 }, (_, i) => item(`k${i}`, "npm npm npm")));
    expect(await Promise.all(stores.slice(1).map(async (store) => (await search(store, "npm"))[0]?.score))).toEqual(scores.slice(1));
    for (const store of stores) await store[Symbol.asyncDispose]();
  });

  test("is made once by many stores that start together, and one of them wins each version", async () => {
    const stores = Array.from({ length: 8 }, () => sqliteMemory(path));
    const written = await Promise.all(
      stores.map((store, i) => put(store, item("same", `writer${i}`, { event: `w${i}` }), item(`own${i}`, "text"))),
    );
    expect(written.flatMap(({ written: all }) => all).filter(({ key }) => key === "same")).toHaveLength(1);
    expect(new Set(written.map(({ revision }) => revision)).size).toBe(8);
    for (const store of stores) expect(await collect(store.list({ asOf: "all" }))).toHaveLength(9);
    for (const store of stores) await store[Symbol.asyncDispose]();
  });

  test("shows each store what the others wrote", async () => {
    await using a = sqliteMemory(path);
    await using b = sqliteMemory(path);
    await put(a, first);
    expect(await keys(b, "npm")).toEqual(["tests"]);
    await put(b, item("tests", "run vitest", { version: 2 }));
    expect([await keys(a, "npm"), await keys(a, "vitest")]).toEqual([[], ["tests"]]);
    expect((await put(a, item("tests", "late", { version: 2, event: "late" }))).refused[0]?.current?.content).toBe("run vitest");
  });

  test("is waited for while another holds it, and no longer than said", async () => {
    await filled();
    await using store = memoryOn(path, {}, { open: openDatabase, loadVectors: noVectors, patienceMs: 100 });
    await store.revision();
    const holder = openDatabase(path);
    holder.exec("BEGIN IMMEDIATE");
    await expect(put(store, item("other", "text"))).rejects.toMatchObject({ code: "store.unavailable", retryable: true });
    expect(await keys(store, "npm")).toEqual(["tests"]);
    const waiting = put(store, item("other", "text"));
    holder.exec("COMMIT");
    expect((await waiting).written).toHaveLength(1);
    holder.close();
  });

  test("judges what expires by the clock given", async () => {
    let now = 999;
    await using store = sqliteMemory(path, { clock: () => now });
    await put(store, item("a", "text", { expires: new Date(1000).toISOString() }));
    expect(await keys(store, "text")).toEqual(["a"]);
    now = 1000;
    expect(await keys(store, "text")).toEqual([]);
  });
});

/** A driver that shows each statement before it runs. */
function watched(see: (sql: string, database: Database) => void): OpenDatabase {
  return (file) => {
    const database = openDatabase(file);
    return {
      exec: (sql) => database.exec(sql),
      close: () => database.close(),
      prepare<R>(sql: string): Statement<R> {
        const statement = database.prepare<R>(sql);
        const seen =
          <A extends unknown[], B>(call: (...values: A) => B) =>
          (...values: A): B => {
            see(sql, database);
            return call(...values);
          };
        return {
          run: seen(statement.run.bind(statement)),
          get: seen(statement.get.bind(statement)),
          all: seen(statement.all.bind(statement)),
        };
      },
    };
  };
}

describe("a commit", () => {
  test("of a write is synced, that of a use need not be", async () => {
    const full = 2;
    const normal = 1;
    const levels: number[] = [];
    const open = watched((sql, database) => sql === "COMMIT" && levels.push(pragma(database, "synchronous")));
    await using store = memoryOn(path, {}, { open, loadVectors: noVectors });
    await put(store, first);
    await store.used([{ uri: first.uri, version: 1, session: "s", event: "e", at: first.at }]);
    await put(store, item("other", "text"));
    expect(levels).toEqual([full, normal, full]);
  });

  test("is all or nothing: whatever statement fails, nothing of the write is there", async () => {
    await filled();
    const failing = [
      ...["UPDATE items", "INSERT INTO items", "INSERT INTO bodies", "INSERT INTO word_index"],
      "INSERT INTO evidence",
      "INSERT INTO revisions",
    ];
    for (const part of failing) {
      const open = watched((sql) => {
        if (sql.startsWith(part)) throw new Error(`no ${part}`);
      });
      await using broken = memoryOn(path, {}, { open, loadVectors: noVectors });
      const next = item("tests", "run vitest", { version: 2, because: ["e"] });
      await expect(put(broken, item("beside", "text"), next)).rejects.toThrow(`no ${part}`);
      await using store = sqliteMemory(path);
      expect([await store.revision(), await keys(store, "npm"), await keys(store, "vitest text")]).toEqual([1, ["tests"], []]);
      expect(await collect(store.list({ asOf: "all" }))).toHaveLength(1);
    }
  });
});
