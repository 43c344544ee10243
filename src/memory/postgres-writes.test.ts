/** Writers at once, connections that are cut, answers that are lost; and memories that are wrong, each of which is caught. */
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { dropSchemas, freshSchema, sharedPostgres, withClient } from "../../test/support/postgres.ts";
import { item, keys, type MemoryCase, put } from "../testing/memory-case.ts";
import { memorySearchCases } from "../testing/memory-search-cases.ts";
import { memoryTextCases } from "../testing/memory-text-cases.ts";
import { memoryWriteCases } from "../testing/memory-write-cases.ts";
import { collect } from "../testing/store-case.ts";
import type { MemoryStore } from "./memory.ts";
import { type PostgresMemoryOptions, postgresMemory } from "./postgres.ts";

let url = "";
const schemas: string[] = [];
let pool: pg.Pool;
beforeAll(async () => {
  url = await sharedPostgres();
  pool = new pg.Pool({ connectionString: url, max: 12 });
});
afterAll(async () => {
  await pool.end();
  await dropSchemas(url, schemas);
});

function schema(): string {
  schemas.push(freshSchema());
  return schemas.at(-1) as string;
}

/** A change of what is sent to the server. */
type Change = (sql: string, values: unknown[]) => [string, unknown[]];

/** A memory whose statements are changed on their way. */
function changed(change: Change, options: PostgresMemoryOptions): MemoryStore {
  return postgresMemory({ query: (sql, values = []) => pool.query(...change(sql, values)) }, options);
}

const first = item("tests", "run npm test");

/** Holds the row of a project until so many writers wait for it; gives what to do to let them go. */
async function holding<T>(own: string, work: (release: (waiting: number) => Promise<void>) => Promise<T>): Promise<T> {
  return withClient(url, async (client) => {
    await client.query(`BEGIN; SELECT 1 FROM "${own}".memory_projects FOR UPDATE`);
    return work(async (waiting) => {
      await waiters(own, waiting);
      await client.query("COMMIT");
    });
  });
}

/** The connections that wait for a lock in the middle of a write, once there are so many. */
async function waiters(own: string, count: number): Promise<number[]> {
  for (;;) {
    const sql = `SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%"${own}".memory_revisions%'`;
    const { rows } = await pool.query<{ pid: number }>(sql);
    if (rows.length === count) return rows.map(({ pid }) => pid);
  }
}

/** Eight stores that have all read the same before any of them writes. */
async function contend(own: string, open: () => MemoryStore, made: (i: number) => Parameters<typeof put>[1][]): Promise<void> {
  const stores = Array.from({ length: 8 }, open);
  await put(stores[0] as MemoryStore, first);
  await Promise.all(stores.map((store) => store.revision()));
  const written = await holding(own, async (release) => {
    const pending = Promise.all(stores.map((store, i) => put(store, ...made(i))));
    await Promise.race([release(8), pending]);
    return pending;
  });
  const [store] = stores as [MemoryStore];
  const all = await collect(store.list({ asOf: "all" }));
  const revisions = written.filter((one) => one.written.length > 0).map(({ revision }) => revision);
  // Each write has a revision of its own, and there are no others.
  expect(revisions.sort((a, b) => a - b)).toEqual(revisions.map((_, i) => i + 2));
  expect([...new Set(all.map(({ revision }) => revision))]).toEqual([1, ...revisions]);
  expect(await store.revision()).toBe(revisions.length + 1);
  const versions = all.filter(({ key }) => key === "tests").map(({ version }) => version);
  expect(versions).toEqual(versions.map((_, i) => i + 1));
  // Of those over the same version one has won, and the others name it.
  const over = written.flatMap((one) => [...one.written, ...one.refused.map(({ item: of }) => of)]).filter(({ key }) => key === "tests");
  if (over.length > 0) expect(versions).toEqual([1, 2]);
  for (const { refused } of written) for (const { current } of refused) expect(current).toEqual(all.find(({ version }) => version === 2));
  for (const one of stores) await one[Symbol.asyncDispose]();
}

const same = (i: number) => [item("tests", `writer${i}`, { version: 2, event: `w${i}` })];
const apart = (i: number) => [item(`k${i}`, "text")];
const mixed = (i: number) => [...same(i), ...apart(i)];

describe("stores that write at once", () => {
  test.each([
    ["the same item: one wins", same],
    ["different items: all win", apart],
    ["both: each loses only what another was faster with", mixed],
  ])("%s", async (_, made) => {
    const own = schema();
    await contend(own, () => postgresMemory(url, { schema: own, max: 2 }), made);
  });

  test("never change what was there at a revision that somebody has seen", async () => {
    const own = schema();
    const stores = Array.from({ length: 4 }, () => postgresMemory(url, { schema: own, max: 2 }));
    await using reader = postgresMemory(url, { schema: own });
    const seen = new Map<number, readonly unknown[]>();
    let writing = true;
    const watching = (async () => {
      while (writing) {
        const asOf = await reader.revision();
        seen.set(asOf, await collect(reader.list({ asOf })));
      }
    })();
    await Promise.all(
      stores.map(async (store, i) => {
        for (let n = 0; n < 12; n++) await put(store, item(`k${i}`, `text ${n}`, { version: n + 1 }));
      }),
    );
    writing = false;
    await watching;
    expect(await reader.revision()).toBe(48);
    for (const [asOf, then] of seen) expect(await collect(reader.list({ asOf }))).toEqual(then);
    expect(seen.size).toBeGreaterThan(3);
    for (const store of stores) await store[Symbol.asyncDispose]();
  });
});

describe("a write", () => {
  test("whose connection is cut in its middle leaves nothing, and is made once when it is tried again", async () => {
    const own = schema();
    const store = postgresMemory(url, { schema: own });
    const other = postgresMemory(url, { schema: own });
    await put(store, first);
    await other.revision();
    const next = item("tests", "run vitest", { version: 2 });
    await holding(own, async (release) => {
      const pending = put(store, next, item("beside", "text"));
      const given = put(other, item("gone", "text")).catch((error: unknown) => error);
      const pids = await waiters(own, 2);
      // Closed, so that it does not try again.
      const closing = other[Symbol.asyncDispose]();
      for (const pid of pids) await pool.query("SELECT pg_terminate_backend($1)", [pid]);
      expect(await given).toMatchObject({ code: expect.stringMatching(/^store\.(?:closed|unavailable)$/) });
      await closing;
      expect([await store.revision(), await keys(store, "npm vitest text")]).toEqual([1, ["tests"]]);
      await release(1);
      expect(await pending).toMatchObject({ revision: 2, written: [{ version: 2 }, { key: "beside" }], refused: [] });
    });
    expect((await collect(store.list({ asOf: "all" }))).map(({ key, version }) => `${key}@${version}`)).toEqual([
      ...["tests@1", "tests@2", "beside@1"],
    ]);
    for (const table of ["items", "bodies", "words", "revisions"])
      expect(
        (await pool.query(`SELECT 1 FROM "${own}".memory_${table} WHERE ${table === "revisions" ? "revision" : "no"} > 3`)).rows,
      ).toEqual([]);
    await store[Symbol.asyncDispose]();
  });

  test("whose answer is lost is found again by its event", async () => {
    const own = schema();
    let losses = 0;
    const query = async (sql: string, values: unknown[] = []) => {
      const result = await pool.query(sql, values);
      if (/^\s*WITH counter/.test(sql) && losses++ === 0) throw new Error("Connection terminated unexpectedly");
      return result;
    };
    await using store = postgresMemory({ query }, { schema: own });
    expect(await put(store, first)).toMatchObject({ revision: 1, written: [{ key: "tests", revision: 1 }] });
    expect(losses).toBe(1);
    expect(await collect(store.list({ asOf: "all" }))).toHaveLength(1);
  });

  test("is all or nothing: whatever is refused in its middle, nothing of it is there", async () => {
    const own = schema();
    await using store = postgresMemory(url, { schema: own });
    await put(store, first);
    for (const table of ["revisions", "items", "bodies", "words", "vectors", "evidence"]) {
      await pool.query(`ALTER TABLE "${own}".memory_${table} ADD CONSTRAINT none CHECK (false) NOT VALID`);
      const vector = { model: "m", values: Float32Array.from([1]) };
      const next = item("tests", "run vitest", { version: 2, because: ["e"] });
      await expect(store.write([{ item: next, based: 1, vector }])).rejects.toMatchObject({ code: "store.conflict" });
      expect([await store.revision(), await keys(store, "npm"), await keys(store, "vitest")]).toEqual([1, ["tests"], []]);
      expect(await collect(store.list({ asOf: "all" }))).toHaveLength(1);
      await pool.query(`ALTER TABLE "${own}".memory_${table} DROP CONSTRAINT none`);
    }
  });
});

const cases = [...memoryWriteCases, ...memorySearchCases, ...memoryTextCases].filter(({ reopens }) => !reopens);
const named = (name: string): MemoryCase => cases.find((one) => one.name === name) as MemoryCase;

describe("a memory with", () => {
  const mutated = schema();
  test("a revision that is read before the lock is got is caught", async () => {
    const own = schema();
    const early: Change = (sql, values) => {
      const text = sql.replace(
        "RETURNING id, revision,",
        `RETURNING id, (SELECT q.revision + 1 FROM "${own}".memory_projects q WHERE q.id = $1) AS revision,`,
      );
      return [text.replace("FROM counter\n), ended", "FROM counter ON CONFLICT DO NOTHING\n), ended"), values];
    };
    await expect(contend(own, () => changed(early, { schema: own }), apart)).rejects.toThrow("to deeply equal [ 2, 3, 4, 5, 6, 7, 8, 9 ]");
  });

  test("no version of which there can be only one successor is caught", async () => {
    const own = schema();
    await using store = postgresMemory(url, { schema: own });
    await store.revision();
    await pool.query(`ALTER TABLE "${own}".memory_items DROP CONSTRAINT memory_items_project_name_based_key`);
    await expect(contend(own, () => postgresMemory(url, { schema: own, max: 2 }), same)).rejects.toThrow("to deeply equal [ 1, 2,");
  });

  test.each<[string, string, Change]>([
    [
      "words that are not analysed",
      "case, diacritics and forms of letters make no difference",
      (sql, values) => [
        sql,
        /^\s*WITH counter/.test(sql)
          ? values.map((one, i) => (i === 20 ? (one as string[]).map((word) => word.toUpperCase()) : one))
          : values,
      ],
    ],
    [
      "versions that never end",
      "search and list read what was there at a revision",
      (sql, values) => [sql.replace("SET until = c.revision", "SET until = NULL"), values],
    ],
    [
      "versions that end too early",
      "what was found at a revision has the same score later",
      (sql, values) => [sql.replaceAll(/OR i\.until > \$\d+/g, ""), values],
    ],
    [
      "candidates in any order",
      "the best of very many matches is found, wherever it was written",
      (sql, values) => [sql.replace("ORDER BY score DESC,", "ORDER BY"), values],
    ],
    [
      "writes that are not known again",
      "the same write twice is one, also after others",
      (sql, values) => [sql.replace("i.event = w.event", "false"), values],
    ],
  ])("%s is caught", async (_, name, change) => {
    await expect(named(name).run(changed(change, { schema: mutated, project: name }), async (store) => store)).rejects.toThrow(/^expected/);
  });
});
