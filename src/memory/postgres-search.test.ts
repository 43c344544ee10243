/** What the PostgreSQL memory finds is what the SQLite one finds, with and without pgvector. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { vector } from "@electric-sql/pglite-pgvector";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { dropSchemas, freshSchema, sharedPostgres } from "../../test/support/postgres.ts";
import { hashEmbedder } from "../testing/hash-embedder.ts";
import { item } from "../testing/memory-case.ts";
import { collect } from "../testing/store-case.ts";
import type { MemoryQuery, MemoryStore, MemoryWrite, Vector } from "./memory.ts";
import { postgresMemory } from "./postgres.ts";
import { sqliteMemory } from "./sqlite.ts";

const folder = mkdtempSync(join(tmpdir(), "rath-memory-postgres-"));
const schema = freshSchema();
let pool: pg.Pool;
let withVectors: PGlite;
let url = "";
let projects = 0;
beforeAll(async () => {
  url = await sharedPostgres();
  pool = new pg.Pool({ connectionString: url, max: 4 });
  // The server of the tests comes without the extension. This one is the same code, compiled to WebAssembly, and so is the extension.
  withVectors = await PGlite.create({ extensions: { vector } });
  await withVectors.exec("CREATE EXTENSION vector");
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await pool.end();
  await withVectors.close();
  await dropSchemas(url, [schema]);
});

/** The same memory thrice: in SQLite, in PostgreSQL with pgvector, and in PostgreSQL as if that were not there. */
function stores(): { readonly all: readonly MemoryStore[]; readonly compared: () => number } {
  const options = { schema, clock: () => 5000 };
  let compared = 0;
  const counting = async (sql: string, values: unknown[] = []) => {
    if (sql.includes("<=>")) compared++;
    // As pg does: what has no values may be several statements.
    const answers = values.length === 0 ? await withVectors.exec(sql) : [await withVectors.query(sql, values)];
    return { rows: answers.flatMap(({ rows }) => rows as Record<string, unknown>[]) };
  };
  const without = (sql: string, values: unknown[] = []) => pool.query(sql.replace("e.extname = 'vector'", "false"), values);
  return {
    all: [
      sqliteMemory(join(folder, `${projects}.db`), { clock: () => 5000 }),
      postgresMemory({ query: counting }, { ...options, project: `p${projects++}` }),
      postgresMemory({ query: without }, { ...options, project: `p${projects++}` }),
    ],
    compared: () => compared,
  };
}

async function alike(all: readonly MemoryStore[], query: MemoryQuery): Promise<number> {
  const [expected, ...others] = await Promise.all(all.map((store) => store.search(query)));
  for (const other of others) expect(other).toEqual(expected);
  return expected?.length ?? 0;
}

/** Always the same numbers. */
function numbers(seed = 1): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const vocabulary = "tests run npm deploy 数据库 getUserName the cache retry_count naïve server restart three 3.14 policies 🚀".split(" ");
const embedder = hashEmbedder(32);

test("fifty items are found by the same queries, at every revision, with the same scores", async () => {
  const { all } = stores();
  const next = numbers();
  const text = (length: number) => Array.from({ length }, () => vocabulary[next(vocabulary.length)]).join(" ");
  const vectorOf = async (of: string): Promise<Vector> => {
    const { vectors } = await embedder.embed([of], { signal: new AbortController().signal });
    return { model: next(8) === 0 ? "other" : embedder.id, values: vectors[0] as Float32Array };
  };
  const versions = new Map<string, number>();
  const made = async (): Promise<MemoryWrite> => {
    const key = `${vocabulary[next(6)]}-${next(9)}`;
    const owner = ["ad", "ada"][next(2)] as string;
    const version = (versions.get(`${owner}/${key}`) ?? 0) + 1;
    versions.set(`${owner}/${key}`, version);
    const content = text(next(12));
    const over = { uri: `memory://user/${owner}/${key}`, version, at: new Date(1_700_000_000_000 + next(5)).toISOString() };
    const state = next(8) === 0 ? ("retracted" as const) : ("published" as const);
    const rest = {
      trust: next(3) === 0 ? ("untrusted" as const) : ("trusted" as const),
      expires: [undefined, "1970-01-01T00:00:04Z"][next(9) ? 0 : 1],
    };
    const vector = next(4) === 0 ? undefined : await vectorOf(content);
    return { item: item(key, content, { ...over, state, ...rest }), based: version - 1, vector };
  };
  for (let batch = 0; batch < 10; batch++) {
    const writes = await Promise.all(Array.from({ length: 5 }, made));
    const [expected, ...others] = await Promise.all(all.map((store) => store.write(writes)));
    for (const other of others) expect(other).toEqual(expected);
  }
  let hits = 0;
  for (let n = 0; n < 60; n++) {
    const asked = text(1 + next(4));
    const staged =
      next(2) === 0
        ? []
        : [await made(), await made()].map(({ item: of, vector }) => ({ item: { ...of, state: "staged" as const }, vector }));
    hits += await alike(all, {
      ...{ text: asked, staged, limit: [1, 5, 50][next(3)] as number, within: [["memory://"], ["memory://user/ad/"]][next(2)] as string[] },
      ...{ asOf: [undefined, next(11)][next(2)], trust: [undefined, "trusted" as const][next(2)] },
      vector: next(2) === 0 ? undefined : await vectorOf(asked),
    });
  }
  expect(hits).toBeGreaterThan(300);
  for (const asOf of ["all", 5] as const) {
    const [expected, ...others] = await Promise.all(all.map((store) => collect(store.list({ asOf }))));
    for (const other of others) expect(other).toEqual(expected);
  }
  for (const store of all) await store[Symbol.asyncDispose]();
});

test("pgvector and we choose the same of many vectors", async () => {
  const { all, compared } = stores();
  const next = numbers(7);
  // Of very different lengths: what is alike has the same direction (mutant: the nearest).
  const random = () => {
    const size = 10 ** (next(5) - 2);
    return { model: "m", values: Float32Array.from({ length: 48 }, () => size * (next(2001) / 1000 - 1)) };
  };
  const writes = Array.from({ length: 1500 }, (_, i): MemoryWrite => ({ item: item(`k${i}`, "text"), based: 0, vector: random() }));
  const odd = [Number.NaN, Number.POSITIVE_INFINITY, 0].map((value, i): MemoryWrite => {
    return { item: item(`odd${i}`, "text"), based: 0, vector: { model: "m", values: new Float32Array(48).fill(value) } };
  });
  for (const store of all) await store.write([...writes, ...odd]);
  for (let n = 0; n < 5; n++) expect(await alike(all, { text: "", vector: random(), within: ["memory://"], limit: 20 })).toBe(20);
  for (const { vector } of odd) expect(await alike(all, { text: "", vector, within: ["memory://"], limit: 20 })).toBe(0);
  expect(compared()).toBe(5);
  for (const store of all) await store[Symbol.asyncDispose]();
});
