/** The memory contract: listing versions, and who used them. */

import type { MemoryListQuery, MemoryStore, MemoryUse } from "../memory/memory.ts";
import { item, type MemoryCase, put } from "./memory-case.ts";
import { collect } from "./store-case.ts";
import { expect } from "./vitest.ts";

async function names(store: MemoryStore, query: MemoryListQuery): Promise<string[]> {
  return (await collect(store.list(query))).map(({ key, version }) => `${key}@${version}`);
}

const use = (over: Partial<MemoryUse> = {}): MemoryUse => ({
  ...{ uri: "memory://project/a", version: 1, session: "s", event: "call", at: "2026-01-01T00:00:00.000Z" },
  ...over,
});

/** Two versions of a, one of which was retracted later; b and c made of them. */
async function fill(store: MemoryStore): Promise<void> {
  await put(store, item("a", "first", { because: ["e1", "e2"], event: "w1" }));
  await put(
    store,
    item("b", "from a", { from: ["memory://project/a@1"], because: ["e2"], event: "w2" }),
    item("a", "next", { version: 2, event: "w3" }),
  );
  await put(
    store,
    item("a", "", { version: 3, state: "retracted", event: "w4" }),
    item("c", "from both", { uri: "memory://user/ada@home/c", from: ["memory://project/a@2", "memory://user/ada@home/x@12"], event: "w2" }),
  );
}

export const memoryListCases: readonly MemoryCase[] = [
  {
    name: "a list begins with the newest when asked, and leaves out what has expired when asked",
    async run(store) {
      await fill(store);
      await put(store, item("old", "x", { uri: "memory://project/old", expires: "2001-01-01T00:00:00.000Z", event: "w9" }));
      expect(await names(store, { newestFirst: true })).toEqual(["old@1", "c@1", "a@3", "b@1"]);
      expect(await names(store, { newestFirst: true, alive: true })).toEqual(["c@1", "a@3", "b@1"]);
      for (let n = 0; n < 300; n++) await put(store, item(`n${n}`, "x", { uri: `memory://project/n${n}`, event: `n${n}` }));
      const all = await names(store, { asOf: "all" });
      expect(await names(store, { asOf: "all", newestFirst: true })).toEqual(all.reverse());
    },
  },
  {
    name: "a write of which one part is refused writes nothing when it is asked to be whole",
    async run(store) {
      await put(store, item("a", "first", { event: "w1" }));
      const writes = [
        { item: item("b", "new", { event: "w2" }), based: 0 },
        { item: item("a", "late", { event: "w3", version: 1 }), based: 0 },
      ];
      const whole = await store.write(writes, { whole: true });
      expect(whole.written).toEqual([]);
      expect(whole.refused.map(({ item: { key }, current }) => [key, current?.event])).toEqual([["a", "w1"]]);
      expect(await names(store, {})).toEqual(["a@1"]);
      expect((await store.write(writes)).written.map(({ key }) => key)).toEqual(["b"]);
    },
  },
  {
    name: "a list has the newest version of each uri, retracted ones too, in order of revision",
    async run(store) {
      await fill(store);
      expect(await names(store, {})).toEqual(["b@1", "a@3", "c@1"]);
      expect(await names(store, { asOf: "all" })).toEqual(["a@1", "b@1", "a@2", "a@3", "c@1"]);
      const revisions = (await collect(store.list({ asOf: "all" }))).map(({ revision }) => revision);
      expect(revisions).toEqual([...revisions].sort((a, b) => a - b));
    },
  },
  {
    name: "a list is chosen by uri, key, beginnings and state",
    async run(store) {
      await fill(store);
      await put(store, item("b", "another b", { uri: "memory://user/ad/b" }));
      expect(await names(store, { uri: "memory://project/a", asOf: "all" })).toEqual(["a@1", "a@2", "a@3"]);
      expect(await names(store, { uri: "memory://project/" })).toEqual([]);
      expect(await names(store, { key: "b" })).toEqual(["b@1", "b@1"]);
      expect(await names(store, { key: "b", uri: "memory://user/ad/b" })).toEqual(["b@1"]);
      expect(await names(store, { within: ["memory://user/ad/"] })).toEqual(["b@1"]);
      expect(await names(store, { within: ["memory://user/", "memory://project/b"] })).toEqual(["b@1", "c@1", "b@1"]);
      expect(await names(store, { within: [] })).toEqual([]);
      expect(await names(store, { state: "retracted" })).toEqual(["a@3"]);
      expect(await names(store, { state: "published", uri: "memory://project/a" })).toEqual([]);
      expect(await names(store, { state: "published", uri: "memory://project/a", asOf: "all" })).toEqual(["a@1", "a@2"]);
    },
  },
  {
    name: "a list is chosen by the events that wrote it and by its evidence",
    async run(store) {
      await fill(store);
      expect(await names(store, { events: ["w2", "w1", "nothing"], asOf: "all" })).toEqual(["a@1", "b@1", "c@1"]);
      expect(await names(store, { events: [] })).toEqual([]);
      expect(await names(store, { because: "e2", asOf: "all" })).toEqual(["a@1", "b@1"]);
      expect(await names(store, { because: "e2" })).toEqual(["b@1"]);
      expect(await names(store, { because: "memory://project/a@1" })).toEqual([]);
      expect(await names(store, { because: "e2", key: "b", state: "published", events: ["w2"] })).toEqual(["b@1"]);
    },
  },
  {
    name: "a list is chosen by a version that was read, or by any of its uri",
    async run(store) {
      await fill(store);
      expect(await names(store, { from: "memory://project/a@1" })).toEqual(["b@1"]);
      expect(await names(store, { from: "memory://project/a@2" })).toEqual(["c@1"]);
      expect(await names(store, { from: "memory://project/a" })).toEqual(["b@1", "c@1"]);
      expect(await names(store, { from: "memory://user/ada@home/x" })).toEqual(["c@1"]);
      expect(await names(store, { from: "memory://user/ada@home/x@1" })).toEqual([]);
      expect(await names(store, { from: "memory://user/ada" })).toEqual([]);
      expect(await names(store, { from: "e2" })).toEqual([]);
    },
  },
  {
    name: "a long list comes whole, and does not see what is written meanwhile",
    async run(store) {
      await put(store, ...Array.from({ length: 1000 }, (_, i) => item(`k${i}`, "text")));
      const seen: string[] = [];
      for await (const { key } of store.list({})) {
        if (seen.length === 0) await put(store, item("k999", "changed", { version: 2 }), item("late", "text"));
        seen.push(key);
      }
      expect(seen).toEqual(Array.from({ length: 1000 }, (_, i) => `k${i}`));
      expect(await names(store, { events: Array.from({ length: 3000 }, (_, i) => `event of k${i} 1`) })).toHaveLength(999);
    },
  },
  {
    name: "uses of every version of an item are told, oldest first",
    async run(store) {
      const later = use({ version: 2, event: "later", at: "2026-01-02T00:00:00.000Z" });
      const elsewhere = use({ session: "t", at: "2026-01-01T12:00:00.000Z" });
      await store.used([later, elsewhere]);
      await store.used([use(), use({ uri: "memory://project/b" })]);
      expect(await collect(store.uses("memory://project/a"))).toEqual([use(), elsewhere, later]);
      expect(await collect(store.uses("memory://project/b"))).toHaveLength(1);
      expect(await collect(store.uses("memory://project/"))).toEqual([]);
    },
  },
  {
    name: "the same use twice is one, and notes change nothing else",
    async run(store) {
      await put(store, item("a", "text"));
      const before = await store.revision();
      await store.used([use(), use()]);
      await store.used([use(), use({ at: "2026-05-05T00:00:00.000Z" })]);
      await store.used([]);
      expect(await collect(store.uses("memory://project/a"))).toEqual([use()]);
      expect(await store.revision()).toBe(before);
    },
  },
];
