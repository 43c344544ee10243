/** Memory stores that are wrong: the conformance suite must catch each. */
import { describe, expect, test } from "vitest";
import { memoryListCases } from "../testing/memory-list-cases.ts";
import { memorySearchCases } from "../testing/memory-search-cases.ts";
import { memoryWriteCases } from "../testing/memory-write-cases.ts";
import { collect } from "../testing/store-case.ts";
import type { MemoryListQuery, MemoryQuery, MemoryStore, MemoryWrite } from "./memory.ts";
import { volatileMemory } from "./volatile.ts";

const cases = [...memoryWriteCases, ...memorySearchCases, ...memoryListCases];

function searching(change: (query: MemoryQuery) => MemoryQuery): () => MemoryStore {
  return () => {
    const store = volatileMemory();
    return { ...store, search: (query) => store.search(change(query)) };
  };
}

function listing(change: (query: MemoryListQuery) => MemoryListQuery): () => MemoryStore {
  return () => {
    const store = volatileMemory();
    return { ...store, list: (query) => store.list(change(query)) };
  };
}

function writing(change: (writes: readonly MemoryWrite[], store: MemoryStore) => Promise<readonly MemoryWrite[]>): () => MemoryStore {
  return () => {
    const store = volatileMemory();
    return { ...store, write: async (writes) => store.write(await change(writes, store)) };
  };
}

/** Whatever a write is based on, it is put over the newest version. */
const unconditional = writing(async (writes, store) =>
  Promise.all(
    writes.map(async (write) => {
      const [newest] = await collect(store.list({ uri: write.item.uri }));
      const based = newest?.version ?? 0;
      return { ...write, based, item: { ...write.item, version: Math.max(write.item.version, based + 1) } };
    }),
  ),
);
let repeats = 0;
/** Writes have no names of their own: the same one twice is two. */
const forgetful = writing(async (writes) =>
  writes.map((write) => ({ ...write, item: { ...write.item, event: `${write.item.event}#${repeats++}` } })),
);

/** Checks the newest version, waits, then writes: two may pass the check. */
function racing(): MemoryStore {
  const store = volatileMemory();
  return {
    ...store,
    async write(writes) {
      const newest = new Map((await collect(store.list({}))).map((one) => [one.uri, one]));
      const refused = writes.filter(({ item: { uri }, based }) => (newest.get(uri)?.version ?? 0) !== based);
      const result = {
        revision: await store.revision(),
        written: [],
        refused: refused.map((one) => ({ item: one.item, current: newest.get(one.item.uri) })),
      };
      if (refused.length > 0) return result;
      await new Promise((resolve) => setImmediate(resolve));
      let written = await store.write(writes);
      while (written.refused.length > 0)
        written = await store.write(
          written.refused.map(({ item: one, current }) => ({
            item: { ...one, version: (current?.version ?? 0) + 1 },
            based: current?.version ?? 0,
          })),
        );
      return written;
    },
  };
}

/** Gives everything a score, however little it has in common with the query. */
function generous(): MemoryStore {
  const store = volatileMemory();
  return {
    ...store,
    search: async (query) => {
      const all = await collect(store.list({ state: "published", within: query.within, asOf: query.asOf }));
      const hits = await store.search(query);
      const rest = all
        .filter(({ uri }) => !hits.some((hit) => hit.uri === uri))
        .map(({ revision: _, ...one }) => ({ ...one, score: 1e-6, query: query.text }));
      return [...hits, ...rest].slice(0, query.limit);
    },
  };
}

const mutants: readonly [string, () => MemoryStore][] = [
  ["no compare-and-set", unconditional],
  ["a compare-and-set in two steps", racing],
  ["no memory of what was written", forgetful],
  ["search ignores the revision", searching((query) => ({ ...query, asOf: undefined }))],
  ["list ignores the revision", listing((query) => ({ ...query, asOf: query.asOf === "all" ? "all" : undefined }))],
  ["list of every version has the newest alone", listing((query) => ({ ...query, asOf: query.asOf === "all" ? undefined : query.asOf }))],
  ["no beginnings", searching((query) => ({ ...query, within: ["memory://"] }))],
  ["beginnings that end too early", searching((query) => ({ ...query, within: query.within.map((one) => one.replace(/\/$/, "")) }))],
  ["no beginnings of a list", listing((query) => ({ ...query, within: undefined }))],
  ["no trust", searching((query) => ({ ...query, trust: undefined }))],
  ["no origin", searching((query) => ({ ...query, origin: undefined }))],
  ["nothing is left out", searching((query) => ({ ...query, without: undefined }))],
  ["nothing staged", searching((query) => ({ ...query, staged: undefined }))],
  ["no vectors", searching((query) => ({ ...query, vector: undefined }))],
  ["vectors of every model", searching((query) => ({ ...query, vector: query.vector && { ...query.vector, model: "n" } }))],
  ["one more than the limit", searching((query) => ({ ...query, limit: query.limit + 1 }))],
  ["everything is found", generous],
  ["no evidence", listing((query) => ({ ...query, because: undefined }))],
  ["no reading", listing((query) => ({ ...query, from: undefined }))],
  ["no state", listing((query) => ({ ...query, state: undefined }))],
  ["no events", listing((query) => ({ ...query, events: undefined }))],
  [
    "uses that repeat",
    () => {
      const store = volatileMemory();
      return { ...store, used: (uses) => store.used(uses.map((use) => ({ ...use, event: `${use.event}#${repeats++}` }))) };
    },
  ],
  ["expired items are found", () => volatileMemory({ clock: () => 0 })],
];

/** The name of the first test that it fails. */
async function firstFailure(create: () => MemoryStore): Promise<string | undefined> {
  for (const { name, run, reopens } of cases) {
    if (reopens) continue;
    const passed = await run(create(), async (store) => store).then(
      () => true,
      () => false,
    );
    if (!passed) return name;
  }
  return undefined;
}

describe("a memory store with", () => {
  test.each(mutants)("%s is caught", async (_, create) => {
    expect(await firstFailure(create)).toBeDefined();
  });

  test("nothing wrong is not", async () => {
    expect(await firstFailure(() => volatileMemory())).toBeUndefined();
  });
});
