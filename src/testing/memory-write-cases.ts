/** The memory contract: revisions, compare-and-set, writes made twice, what was there at a revision, closing. */

import { RathError } from "../session/errors.ts";
import { item, keys, type MemoryCase, put, search } from "./memory-case.ts";
import { collect } from "./store-case.ts";
import { expect } from "./vitest.ts";

const first = item("tests", "run npm test");
const second = item("tests", "run vitest instead", { version: 2 });

export const memoryWriteCases: readonly MemoryCase[] = [
  {
    name: "an empty store has revision 0 and nothing to find",
    async run(store) {
      expect(await store.revision()).toBe(0);
      expect(await search(store, "anything")).toEqual([]);
      expect(await collect(store.list({}))).toEqual([]);
      expect(await collect(store.uses("memory://project/none"))).toEqual([]);
    },
  },
  {
    name: "a write comes back whole, with its revision",
    async run(store) {
      const full = item("full", '{"a":[1,null]}', {
        ...{ uri: "memory://user/ada/full", scope: "user", owner: "ada", value: { a: [1, null] }, origin: "human", trust: "untrusted" },
        ...{ because: ["e1", "e2"], from: ["memory://project/tests@1"], session: undefined, expires: "9999-01-01T00:00:00.000Z" },
        reason: "asked to",
      });
      const written = await put(store, full, first);
      expect(written).toEqual({
        revision: await store.revision(),
        written: [full, first].map((one) => ({ ...one, revision: written.revision })),
        refused: [],
      });
      expect(written.revision).toBeGreaterThan(0);
      expect(await collect(store.list({ uri: full.uri }))).toEqual([{ ...full, revision: written.revision }]);
      const [hit] = await search(store, "full");
      expect(hit).toEqual({ ...full, score: expect.any(Number), query: "full" });
    },
  },
  {
    name: "stored items are not the caller's, nor are those handed out",
    async run(store) {
      const value = { list: ["kept"] };
      const values = Float32Array.from([1, 0]);
      const pending = store.write([{ item: item("own", "kept", { value }), based: 0, vector: { model: "m", values } }]);
      value.list[0] = "changed";
      values.fill(0);
      await pending;
      for (let i = 0; i < 2; i++) {
        const [hit] = await search(store, "", { vector: { model: "m", values: Float32Array.from([1, 0]) } });
        const kept = hit?.value as typeof value;
        expect(kept).toEqual({ list: ["kept"] });
        kept.list[0] = "changed";
        const [listed] = await collect(store.list({ uri: hit?.uri }));
        expect(listed?.value).toEqual({ list: ["kept"] });
        const taken = listed?.value as typeof value;
        taken.list[0] = "changed";
      }
    },
  },
  {
    name: "each write has a higher revision, and all of one write have the same",
    async run(store) {
      const one = await put(store, first, item("other", "text"));
      const two = await put(store, second);
      expect(two.revision).toBeGreaterThan(one.revision);
      expect(one.written.map(({ revision }) => revision)).toEqual([one.revision, one.revision]);
      expect(await store.revision()).toBe(two.revision);
    },
  },
  {
    name: "a write over another version than the newest is refused and names it",
    async run(store) {
      const { revision } = await put(store, first);
      const late = item("tests", "late", { event: "late", version: 2 });
      const beside = item("beside", "stays");
      for (const based of [0, 2, 7]) {
        const next = { ...late, version: based + 1 };
        expect(await store.write([{ item: next, based }])).toEqual({
          revision,
          written: [],
          refused: [{ item: next, current: { ...first, revision } }],
        });
      }
      const unknown = item("unknown", "text", { version: 2 });
      const mixed = await store.write([
        { item: { ...late, version: 1 }, based: 0 },
        { item: beside, based: 0 },
        { item: unknown, based: 1 },
      ]);
      expect(mixed.written).toEqual([{ ...beside, revision: mixed.revision }]);
      expect(mixed.refused.map(({ item: { key }, current }) => [key, current?.version])).toEqual([
        ["tests", 1],
        ["unknown", undefined],
      ]);
      expect(await keys(store, "late")).toEqual([]);
    },
  },
  {
    name: "of concurrent writers over the same version exactly one wins",
    async run(store) {
      await put(store, first);
      const written = await Promise.all(
        Array.from({ length: 16 }, (_, i) =>
          store.write([{ item: item("tests", `writer${i}`, { version: 2, event: `w${i}` }), based: 1 }]),
        ),
      );
      const winners = written.filter((one) => one.written.length > 0);
      expect(winners).toHaveLength(1);
      for (const { refused } of written) for (const { current } of refused) expect(current?.content).toBe(winners[0]?.written[0]?.content);
      expect(await collect(store.list({ asOf: "all" }))).toHaveLength(2);
    },
  },
  {
    name: "concurrent writers of different items all win, at revisions of their own",
    async run(store) {
      const written = await Promise.all(Array.from({ length: 16 }, (_, i) => put(store, item(`k${i}`, "text"))));
      expect(new Set(written.map(({ revision }) => revision)).size).toBe(16);
      expect(await collect(store.list({}))).toHaveLength(16);
    },
  },
  {
    name: "the same write twice is one, also after others",
    async run(store) {
      const once = await put(store, first);
      expect(await put(store, first)).toEqual(once);
      await put(store, second);
      expect(await put(store, first)).toEqual(once);
      expect(await store.revision()).toBe(once.revision + 1);
      expect(await collect(store.list({ asOf: "all" }))).toHaveLength(2);
      // The same event may write several items.
      const pair = ["a", "b"].map((key) => item(key, "text", { event: "one event" }));
      expect((await put(store, ...pair)).written).toHaveLength(2);
      expect((await put(store, ...pair, ...pair)).written).toHaveLength(4);
      expect(await collect(store.list({ asOf: "all", events: ["one event"] }))).toHaveLength(2);
    },
  },
  {
    name: "a write that can follow nothing fails as a whole",
    async run(store) {
      for (const wrong of [item("a", "text", { state: "staged" }), item("a", "text", { version: 0 })])
        await expect(
          store.write([
            { item: first, based: 0 },
            { item: wrong, based: 0 },
          ]),
        ).rejects.toSatisfy((error) => RathError.is(error));
      expect(await store.revision()).toBe(0);
    },
  },
  {
    name: "versions may skip numbers, and one write may hold several of a uri",
    async run(store) {
      const far = item("tests", "seventh", { version: 7 });
      const farther = item("tests", "ninth", { version: 9 });
      const { revision, refused } = await store.write([
        { item: far, based: 0 },
        { item: farther, based: 7 },
      ]);
      expect(refused).toEqual([]);
      expect(await keys(store, "seventh")).toEqual([]);
      expect(await keys(store, "ninth")).toEqual(["tests"]);
      expect((await collect(store.list({ asOf: "all" }))).map(({ version }) => version)).toEqual([7, 9]);
      expect((await collect(store.list({ asOf: revision }))).map(({ version }) => version)).toEqual([9]);
    },
  },
  {
    name: "search and list read what was there at a revision",
    async run(store) {
      const one = (await put(store, first)).revision;
      const two = (await put(store, second, item("other", "run it too"))).revision;
      const three = (await put(store, item("tests", "", { version: 3, state: "retracted" }))).revision;
      const found = async (asOf: number | undefined) =>
        (await search(store, "run", { asOf })).map(({ key, version }) => `${key}@${version}`).sort();
      expect(await found(0)).toEqual([]);
      expect(await found(one)).toEqual(["tests@1"]);
      expect(await found(two)).toEqual(["other@1", "tests@2"]);
      expect(await found(three)).toEqual(["other@1"]);
      expect(await found(undefined)).toEqual(["other@1"]);
      expect(await found(three + 100)).toEqual(["other@1"]);
      const listed = async (asOf: number | undefined) =>
        (await collect(store.list({ asOf }))).map(({ key, version }) => `${key}@${version}`);
      expect(await listed(0)).toEqual([]);
      expect(await listed(one)).toEqual(["tests@1"]);
      expect(await listed(two)).toEqual(["tests@2", "other@1"]);
      expect(await listed(undefined)).toEqual(["other@1", "tests@3"]);
    },
  },
  {
    name: "what was found at a revision has the same score later",
    async run(store) {
      const { revision } = await put(store, first, item("other", "run the linter"), item("third", "something else"));
      const then = await search(store, "run tests", { asOf: revision });
      await put(store, second, ...Array.from({ length: 20 }, (_, i) => item(`later${i}`, "run run tests")));
      expect(await search(store, "run tests", { asOf: revision })).toEqual(then);
      expect(then).toHaveLength(2);
    },
  },
  {
    name: "what was written is there after opening again",
    reopens: true,
    async run(store, reopen) {
      const { revision } = await store.write([{ item: first, based: 0, vector: { model: "m", values: Float32Array.from([1, 0]) } }]);
      await store.used([{ uri: first.uri, version: 1, session: "s", event: "r", at: first.at }]);
      await using other = await reopen(store);
      expect(await other.revision()).toBe(revision);
      expect(await keys(other, "npm")).toEqual(["tests"]);
      expect(await keys(other, "", { vector: { model: "m", values: Float32Array.from([1, 1]) } })).toEqual(["tests"]);
      expect(await collect(other.uses(first.uri))).toHaveLength(1);
      expect((await put(other, second)).refused).toEqual([]);
      expect((await put(store, second)).written).toHaveLength(1);
      expect(await keys(store, "vitest")).toEqual(["tests"]);
    },
  },
  {
    name: "a closed store refuses every call, and closing twice is fine",
    async run(store) {
      await put(store, first);
      await store[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
      const closed = (error: unknown) => RathError.is(error, "store.closed");
      await expect(store.revision()).rejects.toSatisfy(closed);
      await expect(put(store, second)).rejects.toSatisfy(closed);
      await expect(search(store, "npm")).rejects.toSatisfy(closed);
      await expect(collect(store.list({}))).rejects.toSatisfy(closed);
      await expect(store.used([{ uri: first.uri, version: 1, session: "s", event: "e", at: first.at }])).rejects.toSatisfy(closed);
      await expect(collect(store.uses(first.uri))).rejects.toSatisfy(closed);
    },
  },
];
