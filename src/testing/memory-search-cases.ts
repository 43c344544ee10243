/** The memory contract: what is found, in which order, and what is not. */

import type { MemoryItem, MemoryQuery, MemoryStore } from "../memory/memory.ts";
import { hashEmbedder } from "./hash-embedder.ts";
import { item, keys, type MemoryCase, put, search } from "./memory-case.ts";
import { expect } from "./vitest.ts";

const ofUser = (user: string, key: string, content: string) =>
  item(key, content, { uri: `memory://user/${user}/${key}`, scope: "user", owner: user });
const staged = (...items: readonly MemoryItem[]): Pick<MemoryQuery, "staged"> => ({
  staged: items.map((one) => ({ item: { ...one, state: "staged" } })),
});

const embedder = hashEmbedder(64);
async function vectorOf(text: string): Promise<{ readonly model: string; readonly values: Float32Array }> {
  const { vectors } = await embedder.embed([text], { signal: new AbortController().signal });
  return { model: embedder.id, values: vectors[0] as Float32Array };
}

async function putWithVectors(store: MemoryStore, ...items: readonly MemoryItem[]): Promise<void> {
  await store.write(
    await Promise.all(items.map(async (one) => ({ item: one, based: one.version - 1, vector: await vectorOf(one.content) }))),
  );
}

export const memorySearchCases: readonly MemoryCase[] = [
  {
    name: "the better match comes first, and every score is above 0",
    async run(store) {
      await put(
        store,
        item("deploy", "deploy with the deploy script after the tests"),
        item("tests", "run the tests with npm"),
        item("colours", "the sky is blue"),
      );
      const hits = await search(store, "deploy script");
      expect(hits.map(({ key }) => key)).toEqual(["deploy"]);
      const both = await search(store, "deploy tests npm");
      expect(both.map(({ key }) => key)).toEqual(["deploy", "tests"]);
      for (const { score, query } of both) expect([score > 0, query]).toEqual([true, "deploy tests npm"]);
      expect(both[0]?.score).toBeGreaterThan(both[1]?.score ?? 0);
    },
  },
  {
    name: "a word of the key counts more than one of the content",
    async run(store) {
      await put(store, item("alpha", "beta gamma"), item("gamma", "alpha beta"));
      expect(await keys(store, "alpha")).toEqual(["alpha", "gamma"]);
      expect(await keys(store, "gamma")).toEqual(["gamma", "alpha"]);
    },
  },
  {
    name: "what has no word of the query is not found, nor is anything by no words",
    async run(store) {
      await put(store, item("a", "apples"), item("b", "pears"));
      expect(await keys(store, "apples")).toEqual(["a"]);
      for (const text of ["plums", "", "  ", "?!", "\0"]) expect(await keys(store, text)).toEqual([]);
    },
  },
  {
    name: "a word that every item has still finds them all",
    async run(store) {
      await put(store, item("a", "common"), item("b", "common word"), item("c", "common again and again"));
      expect((await keys(store, "common")).sort()).toEqual(["a", "b", "c"]);
    },
  },
  {
    name: "no more than the limit are found",
    async run(store) {
      await put(store, ...Array.from({ length: 30 }, (_, i) => item(`k${i}`, "same text")));
      for (const limit of [0, 1, 7]) expect(await keys(store, "text", { limit })).toHaveLength(limit);
      expect(await keys(store, "text", { limit: 100 })).toHaveLength(30);
    },
  },
  {
    name: "equal matches come in the same order every time, newest first",
    async run(store) {
      const at = (n: number) => new Date(1_700_000_000_000 + n).toISOString();
      await put(store, ...[3, 1, 2].map((n) => item(`k${n}`, "same text", { at: at(n) })), item("k4", "same text", { at: at(2) }));
      expect(await keys(store, "text")).toEqual(["k3", "k2", "k4", "k1"]);
    },
  },
  {
    name: "only what lies within is found, and a beginning ends where it ends",
    async run(store) {
      await put(store, ofUser("ad", "x", "secret"), ofUser("ada", "y", "secret"), ofUser("AD", "w", "secret"), item("z", "secret"));
      expect(await keys(store, "secret", { within: ["memory://user/ad/"] })).toEqual(["x"]);
      expect(await keys(store, "secret", { within: ["memory://user/ada/", "memory://project/"] })).toEqual(["z", "y"]);
      expect(await keys(store, "secret", { within: ["memory://user/a%/", "memory://user/a_/", "memory://user/*"] })).toEqual([]);
      expect(await keys(store, "secret", { within: [] })).toEqual([]);
      expect(await keys(store, "secret", { within: ["memory://user/ad/"], ...staged(ofUser("ada", "s", "secret")) })).toEqual(["x"]);
    },
  },
  {
    name: "a few items within are found among many that match better",
    async run(store) {
      await put(
        store,
        ...Array.from({ length: 300 }, (_, i) => item(`k${i}`, "needle needle")),
        ofUser("ada", "mine", "one needle in much more hay"),
      );
      expect(await keys(store, "needle", { within: ["memory://user/ada/"], limit: 1 })).toEqual(["mine"]);
    },
  },
  {
    name: "the best of very many matches is found, wherever it was written",
    async run(store) {
      const hay = Array.from({ length: 600 }, (_, i) => item(`k${i}`, `one needle in hay number ${i}`));
      await put(store, ...hay.slice(0, 300), item("best", "needle needle needle"), ...hay.slice(300));
      expect(await keys(store, "needle", { limit: 1 })).toEqual(["best"]);
      expect((await keys(store, "needle 599", { limit: 1 }))[0]).toBe("k599");
    },
  },
  {
    name: "trust and origin choose",
    async run(store) {
      await put(
        store,
        item("a", "text", { trust: "untrusted", origin: "tool" }),
        item("b", "text", { origin: "human" }),
        item("c", "text"),
      );
      expect(await keys(store, "text", { trust: "trusted" })).toEqual(["b", "c"]);
      expect(await keys(store, "text", { trust: "untrusted" })).toEqual(["a"]);
      expect(await keys(store, "text", { origin: "human" })).toEqual(["b"]);
      expect(await keys(store, "text", { origin: "human", trust: "untrusted" })).toEqual([]);
      expect(await keys(store, "text", { trust: "trusted", ...staged(item("d", "text", { trust: "untrusted" })) })).toEqual(["b", "c"]);
    },
  },
  {
    name: "retracted and expired items are not found",
    async run(store) {
      await put(
        store,
        ...[item("gone", "text"), item("old", "text", { expires: "2000-01-01T00:00:00.000Z" })],
        item("fresh", "text", { expires: "9999-01-01T00:00:00.000Z" }),
      );
      const { revision } = await put(store, item("gone", "text", { version: 2, state: "retracted" }));
      expect(await keys(store, "text")).toEqual(["fresh"]);
      expect(await keys(store, "text", staged(item("late", "text", { expires: "2000-01-01T00:00:00.000Z" })))).toEqual(["fresh"]);
      expect((await keys(store, "text", { asOf: revision - 1 })).sort()).toEqual(["fresh", "gone"]);
      await put(store, item("gone", "text again", { version: 3 }));
      expect((await keys(store, "text")).sort()).toEqual(["fresh", "gone"]);
    },
  },
  {
    name: "uris that are not to be found are not, stored or staged",
    async run(store) {
      await put(store, item("a", "text"), item("b", "text"));
      const without = ["memory://project/a", "memory://project/c"];
      expect(await keys(store, "text", { without })).toEqual(["b"]);
      expect(await keys(store, "text", { without, ...staged(item("c", "text")) })).toEqual(["b"]);
    },
  },
  {
    name: "staged items are found and hide what is stored",
    async run(store) {
      await put(store, item("tests", "run npm test"), item("other", "something else"));
      const mine = item("tests", "run vitest", { version: 2 });
      expect(await keys(store, "vitest", staged(mine))).toEqual(["tests"]);
      expect(await keys(store, "npm", staged(mine))).toEqual([]);
      const [hit] = await search(store, "run", staged(mine));
      expect(hit).toMatchObject({ content: "run vitest", state: "staged", version: 2 });
      const forgotten = { ...mine, state: "retracted" as const };
      expect(await keys(store, "run", { staged: [{ item: forgotten }] })).toEqual([]);
      expect(await keys(store, "npm")).toEqual(["tests"]);
    },
  },
  {
    name: "staged items are found in an empty store",
    async run(store) {
      expect(await keys(store, "vitest", staged(item("a", "run vitest"), item("b", "nothing")))).toEqual(["a"]);
      expect(await store.revision()).toBe(0);
    },
  },
  {
    name: "a staged item has the score that it has when it is stored",
    async run(store) {
      const stored = [
        item("tests", "run npm test"),
        item("lint", "run the linter with npm"),
        item("deploy", "npm run deploy, then test it"),
      ];
      const mine = [item("tests", "npm test runs everything, test by test", { version: 2 }), item("new", "test npm")];
      await put(store, ...stored);
      const before = await search(store, "npm test", staged(...mine));
      await put(store, ...mine);
      const after = await search(store, "npm test");
      expect(before.map(({ uri, score }) => [uri, score])).toEqual(after.map(({ uri, score }) => [uri, score]));
      expect(after).toHaveLength(4);
    },
  },
  {
    name: "vectors find what no word does, and both together rank",
    async run(store) {
      await putWithVectors(store, item("colour", "colouring"), item("dull", "zzz qqq"), item("both", "recolored colors"));
      expect(await keys(store, "colourless")).toEqual([]);
      const found = await search(store, "recolored", { vector: await vectorOf("recolored") });
      expect(found[0]?.key).toBe("both");
      expect(found.map(({ key }) => key)).toContain("colour");
      for (const { score } of found) expect(score).toBeGreaterThan(0);
      const top = 1 / 61;
      expect(found[0]?.score).toBeCloseTo(2 * top, 12);
    },
  },
  {
    name: "vectors that are not alike, of another model or of another length are no match",
    async run(store) {
      const vector = (model: string, ...values: number[]) => ({ model, values: Float32Array.from(values) });
      await store.write([
        { item: item("alike", "a"), based: 0, vector: vector("m", 1, 1) },
        { item: item("aside", "b"), based: 0, vector: vector("m", 0, 1) },
        { item: item("away", "c"), based: 0, vector: vector("m", -1, 0) },
        { item: item("other", "d"), based: 0, vector: vector("n", 1, 0) },
        { item: item("long", "e"), based: 0, vector: vector("m", 1, 0, 0) },
        { item: item("zero", "f"), based: 0, vector: vector("m", 0, 0) },
        { item: item("odd", "g"), based: 0, vector: vector("m", Number.NaN, 1) },
        { item: item("none", "h"), based: 0 },
      ]);
      const query = { vector: vector("m", 1, 0) };
      expect(await keys(store, "zzz", query)).toEqual(["alike"]);
      expect((await keys(store, "d", query)).sort()).toEqual(["alike", "other"]);
      const mine = [
        { item: item("mine", "x", { state: "staged" }), vector: vector("m", 1, 0.1) },
        { item: item("theirs", "x", { state: "staged" }), vector: vector("n", 1, 0) },
      ];
      expect(await keys(store, "zzz", { ...query, staged: mine })).toEqual(["mine", "alike"]);
      expect(await keys(store, "zzz", { ...query, within: ["memory://user/"] })).toEqual([]);
    },
  },
  {
    name: "vectors are read as of a revision, too",
    async run(store) {
      const vector = { model: "m", values: Float32Array.from([1, 0]) };
      const { revision } = await store.write([{ item: item("a", "x"), based: 0, vector }]);
      await store.write([
        { item: item("a", "y", { version: 2 }), based: 1 },
        { item: item("b", "z"), based: 0, vector },
      ]);
      expect(await keys(store, "", { vector })).toEqual(["b"]);
      expect((await search(store, "", { vector, asOf: revision })).map(({ key, version }) => [key, version])).toEqual([["a", 1]]);
    },
  },
  {
    name: "a version that says again what an earlier one said has its vector",
    async run(store) {
      const vector = { model: "m", values: Float32Array.from([1, 0]) };
      await store.write([{ item: item("a", "x"), based: 0, vector }]);
      await store.write([{ item: item("a", "y", { version: 2 }), based: 1 }]);
      await store.write([{ item: item("a", "x", { version: 3 }), based: 2, again: 1 }]);
      expect((await search(store, "", { vector })).map(({ key, version }) => [key, version])).toEqual([["a", 3]]);
      await store.write([{ item: item("b", "x"), based: 0, again: 7 }]);
      expect(await keys(store, "", { vector })).toEqual(["a"]);
    },
  },
];
