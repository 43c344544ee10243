/** What the SQLite memory finds is what the volatile one finds, with and without sqlite-vec. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { openExtensible } from "../sqlite/driver.ts";
import { item } from "../testing/memory-case.ts";
import { collect } from "../testing/store-case.ts";
import type { MemoryQuery, MemoryStore, MemoryWrite } from "./memory.ts";
import { memoryOn } from "./sqlite-memory.ts";
import { loadVectors } from "./sqlite-vectors.ts";
import { volatileMemory } from "./volatile.ts";

const folder = mkdtempSync(join(tmpdir(), "rath-memory-search-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;

/** The same memory thrice; says whether sqlite-vec was used. */
function stores(): { readonly all: readonly MemoryStore[]; readonly loaded: boolean[] } {
  const loaded: boolean[] = [];
  const load = (database: Parameters<typeof loadVectors>[0]) => {
    const found = loadVectors(database);
    loaded.push(found);
    return found;
  };
  const file = () => join(folder, `${files++}.db`);
  return {
    all: [
      volatileMemory({ clock: () => 5000 }),
      memoryOn(file(), { clock: () => 5000 }, { open: openExtensible, loadVectors: load }),
      memoryOn(file(), { clock: () => 5000 }, { open: openExtensible, loadVectors: () => false }),
    ],
    loaded,
  };
}

const words = ["tests", "run", "npm", "数据库", "getUserName", "the"];
const text = fc.array(fc.constantFrom(...words), { maxLength: 6 }).map((all) => all.join(" "));
const vector = fc.option(
  fc.record({ model: fc.constantFrom("m", "n"), values: fc.float32Array({ minLength: 3, maxLength: 3, noNaN: true, min: -2, max: 2 }) }),
  { nil: undefined },
);
const written = fc.record({
  key: fc.constantFrom("a", "b", "c", "d-tests"),
  user: fc.constantFrom("ad", "ada"),
  content: text,
  state: fc.constantFrom("published", "published", "published", "retracted"),
  trust: fc.constantFrom("trusted", "untrusted"),
  expires: fc.constantFrom(undefined, new Date(4000).toISOString(), new Date(6000).toISOString()),
  vector,
});
type Written = typeof written extends fc.Arbitrary<infer T> ? T : never;

function made({ key, user, content, state, trust, expires, vector: of }: Written, version: number): MemoryWrite {
  const over = { uri: `memory://user/${user}/${key}`, version, state, trust, expires } as const;
  return {
    item: item(key, content, { ...over, event: `${key} ${user} ${version}` } as Parameters<typeof item>[2]),
    based: version - 1,
    vector: of,
  };
}

const query = fc.record({
  text,
  vector,
  within: fc.constantFrom(["memory://"], ["memory://user/ad/"]),
  limit: fc.constantFrom(1, 3, 10),
  asOf: fc.option(fc.nat(8), { nil: undefined }),
  trust: fc.constantFrom(undefined, "trusted" as const),
  staged: fc.array(written, { maxLength: 3 }),
  without: fc.constantFrom(undefined, ["memory://user/ad/a"]),
});

test("every store finds the same, with the same scores", { timeout: 120_000 }, async () => {
  let vectorised = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(written, { minLength: 1, maxLength: 4 }), { maxLength: 6 }),
      fc.array(query, { minLength: 1, maxLength: 6 }),
      async (batches, queries) => {
        const { all, loaded } = stores();
        const versions = new Map<string, number>();
        for (const batch of batches) {
          const writes = batch.map((one) => {
            const version = (versions.get(`${one.user}/${one.key}`) ?? 0) + 1;
            versions.set(`${one.user}/${one.key}`, version);
            return made(one, version);
          });
          const [expected, ...others] = await Promise.all(all.map((store) => store.write(writes)));
          for (const other of others) expect(other).toEqual(expected);
        }
        for (const one of queries) {
          const staged = one.staged.map((s) => {
            const { item: of, vector: its } = made(s, 99);
            return { item: { ...of, state: of.state === "published" ? ("staged" as const) : of.state }, vector: its };
          });
          const asked: MemoryQuery = { ...one, staged };
          const [expected, ...others] = await Promise.all(all.map((store) => store.search(asked)));
          for (const other of others) expect(other).toEqual(expected);
          const [listed, ...lists] = await Promise.all(all.map((store) => collect(store.list({ asOf: one.asOf, within: one.within }))));
          for (const other of lists) expect(other).toEqual(listed);
        }
        vectorised += loaded.filter(Boolean).length;
        for (const store of all) await store[Symbol.asyncDispose]();
      },
    ),
    { numRuns: 40 },
  );
  // It is a development dependency, so it is there wherever it is made for.
  if (process.platform === "linux" && process.arch === "x64") expect(vectorised).toBeGreaterThan(0);
});

test("sqlite-vec and we choose the same of many vectors", async () => {
  const { all } = stores();
  let seed = 1;
  const next = () => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return seed / 2 ** 31 - 1;
  };
  const random = () => ({ model: "m", values: Float32Array.from({ length: 48 }, next) });
  const writes = Array.from({ length: 1500 }, (_, i): MemoryWrite => ({ item: item(`k${i}`, "text"), based: 0, vector: random() }));
  for (const store of all) await store.write(writes);
  for (let i = 0; i < 10; i++) {
    const asked = { text: "", vector: random(), within: ["memory://"], limit: 20 };
    const [expected, ...others] = await Promise.all(all.map((store) => store.search(asked)));
    expect(expected).toHaveLength(20);
    for (const other of others)
      expect(other.map(({ key, score }) => [key, score])).toEqual(expected?.map(({ key, score }) => [key, score]));
  }
  for (const store of all) await store[Symbol.asyncDispose]();
});
