/** The PostgreSQL memory on a real server: the contract, its tables, and what its names and texts may be. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { dropSchemas, freshSchema, sharedPostgres, withClient } from "../../test/support/postgres.ts";
import { item, keys, put, search } from "../testing/memory-case.ts";
import { memoryConformance } from "../testing/memory-conformance.ts";
import { collect } from "../testing/store-case.ts";
import type { MemoryStore } from "./memory.ts";
import { type PostgresMemoryOptions, postgresMemory } from "./postgres.ts";

const schema = freshSchema();
let url = "";
beforeAll(async () => {
  url = await sharedPostgres();
});
afterAll(() => dropSchemas(url, [schema]));

const projects = new Map<MemoryStore, string>();
const opened = (options: PostgresMemoryOptions = {}) => postgresMemory(url, { schema, ...options });

function fresh(options: PostgresMemoryOptions = {}): MemoryStore {
  const project = `p${projects.size}`;
  const store = opened({ project, ...options });
  projects.set(store, project);
  return store;
}

memoryConformance({
  name: "postgres",
  create: () => fresh(),
  reopen: async (store) => opened({ project: projects.get(store) }),
});

const first = item("tests", "run npm test");
const use = { uri: first.uri, version: 1, session: "s", event: "e", at: first.at };

describe("the tables of a memory", () => {
  test("are made once by many stores that start together", async () => {
    const own = freshSchema();
    const stores = Array.from({ length: 8 }, () => opened({ schema: own, max: 2 }));
    const written = await Promise.all(
      stores.map((store, i) => put(store, item("same", `writer${i}`, { event: `w${i}` }), item(`own${i}`, "text"))),
    );
    expect(written.flatMap(({ written: all }) => all).filter(({ key }) => key === "same")).toHaveLength(1);
    expect(written.map(({ revision }) => revision).sort((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    for (const store of stores) await store[Symbol.asyncDispose]();
    await dropSchemas(url, [own]);
  });

  test("keep tenants and projects apart, their statistics too", async () => {
    const stores = [fresh(), fresh(), fresh({ tenant: "t", project: "p0" }), fresh({ project: "\0" }), fresh({ project: "\\0000" })];
    for (const store of stores) {
      expect([await store.revision(), await keys(store, "npm")]).toEqual([0, []]);
      expect((await put(store, first)).revision).toBe(1);
      await store.used([use]);
      expect(await collect(store.uses(first.uri))).toEqual([use]);
      expect(await collect(store.list({ asOf: "all", events: [first.event] }))).toHaveLength(1);
    }
    const [one, ...others] = stores as [MemoryStore, ...MemoryStore[]];
    const [hit] = await search(one, "npm");
    await put(one, ...Array.from({ length: 50 }, (_, i) => item(`k${i}`, "npm npm npm")));
    for (const store of others) expect(await search(store, "npm", { limit: 60 })).toEqual([hit]);
    for (const store of stores) await store[Symbol.asyncDispose]();
  });

  test("of a newer format are refused unchanged", async () => {
    const own = freshSchema();
    await using store = opened({ schema: own });
    await put(store, first);
    await withClient(url, (client) => client.query(`UPDATE "${own}".formats SET version = 99 WHERE family = 'memory'`));
    await using late = opened({ schema: own });
    await expect(put(late, item("other", "text"))).rejects.toMatchObject({ code: "store.newer-format" });
    expect(await keys(store, "text npm")).toEqual(["tests"]);
    await dropSchemas(url, [own]);
  });

  test("name their database when an item in them is damaged", async () => {
    await using store = fresh();
    await put(store, first);
    const project = `(SELECT id FROM "${schema}".memory_projects WHERE project = '${projects.get(store)}')`;
    await withClient(url, (client) => client.query(`UPDATE "${schema}".memory_bodies SET body = '{' WHERE project = ${project}`));
    const refused = { code: "store.corrupt", message: expect.stringContaining("PostgreSQL at ") };
    await expect(search(store, "npm")).rejects.toMatchObject(refused);
    await expect(collect(store.list({}))).rejects.toMatchObject(refused);
  });
});

test("items are told apart by any text, however long, also where PostgreSQL has no such text", async () => {
  await using store = fresh();
  const names = ["\0", "\\0000", "\ud800", "\udc00", "\ufffd", "x".repeat(5000), `${"x".repeat(5000)}y`, "数".repeat(2000), "\\#"];
  const items = names.map((name, i) =>
    item(name, `text ${i}`, { uri: `memory://user/${name}/k`, event: name, because: [name], from: [`memory://${name}@1`], session: name }),
  );
  expect((await put(store, ...items)).refused).toEqual([]);
  await store.used(items.map(({ uri, event }) => ({ uri, version: 1, session: event, event, at: first.at })));
  for (const [i, one] of items.entries()) {
    const name = names[i] as string;
    const queries = [{ uri: one.uri }, { key: name }, { events: [name] }, { because: name }, { from: `memory://${name}` }];
    for (const query of queries) expect(await collect(store.list(query))).toEqual([{ ...one, revision: 1 }]);
    expect((await search(store, "text", { within: [`memory://user/${name}/`], limit: 20 })).map(({ uri }) => uri)).toEqual([one.uri]);
    expect(await collect(store.uses(one.uri))).toEqual([{ uri: one.uri, version: 1, session: name, event: name, at: first.at }]);
  }
  expect(await keys(store, "text", { without: items.slice(1).map(({ uri }) => uri), limit: 20 })).toEqual(["\0"]);
});

test("a version has the vector of one of the same write that says the same", async () => {
  await using store = fresh();
  const vector = { model: "m", values: Float32Array.from([1, 0]) };
  await store.write([
    { item: item("a", "x"), based: 0, vector },
    { item: item("a", "y", { version: 2 }), based: 1 },
    { item: item("a", "x", { version: 3 }), based: 2, again: 1 },
  ]);
  expect((await search(store, "", { vector })).map(({ version }) => version)).toEqual([3]);
});

test("what expires is judged by the clock given, a list at any revision that is asked for", async () => {
  let now = 999.5;
  await using store = fresh({ clock: () => now });
  await put(store, item("a", "text", { expires: new Date(1000).toISOString() }));
  expect(await keys(store, "text")).toEqual(["a"]);
  const there = async (asOf: number) => [(await keys(store, "text", { asOf })).length, (await collect(store.list({ asOf }))).length];
  for (const asOf of [-1, 0, 0.5]) expect(await there(asOf)).toEqual([0, 0]);
  for (const asOf of [1, 1.5, 2 ** 70, Number.POSITIVE_INFINITY]) expect(await there(asOf)).toEqual([1, 1]);
  now = 1000;
  expect(await keys(store, "text")).toEqual([]);
});
