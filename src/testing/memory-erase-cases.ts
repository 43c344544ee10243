/** The memory contract: erasing what versions say. Stores without `erase` pass. */

import { item, keys, type MemoryCase, put, search } from "./memory-case.ts";
import { collect } from "./store-case.ts";
import { expect } from "./vitest.ts";

const [entry, other] = ["e".repeat(64), "f".repeat(64)];
const first = item("door", "the pin is 4711", { value: { pin: 4711 }, because: ["e1"], from: ["memory://project/x@1"] });
const second = item("door", "the pin is secret", { version: 2 });
const window = item("window", "the pin of the window is 4711");

export const memoryEraseCases: readonly MemoryCase[] = [
  {
    name: "an erased version says nothing and is not found, but was there",
    async run(store) {
      if (store.erase === undefined) return;
      const { revision } = await put(store, first, window);
      await store.erase([first, { uri: "memory://project/none", version: 1 }, { uri: first.uri, version: 9 }], entry);
      const { value: _, ...rest } = first;
      expect(await collect(store.list({ uri: first.uri }))).toEqual([{ ...rest, content: "", erased: entry, revision }]);
      expect(await keys(store, "pin 4711")).toEqual(["window"]);
      expect(await keys(store, "door")).toEqual([]);
      expect(await keys(store, "pin 4711", { asOf: revision })).toEqual(["window"]);
      expect((await collect(store.list({ because: "e1" }))).map(({ key }) => key)).toEqual(["door"]);
      expect(await store.revision()).toBe(revision);
      expect(await store.scrub?.()).not.toBe(false);
      expect(await keys(store, "4711")).toEqual(["window"]);
    },
  },
  {
    name: "erasing an older version leaves the newest, and the other way round",
    async run(store) {
      if (store.erase === undefined) return;
      const { revision } = await put(store, first);
      await put(store, second);
      await store.erase([first], entry);
      await store.erase([first], other);
      expect((await collect(store.list({ uri: first.uri, asOf: "all" }))).map((one) => [one.content, one.erased])).toEqual([
        ["", entry],
        [second.content, undefined],
      ]);
      expect(await keys(store, "pin")).toEqual(["door"]);
      expect(await keys(store, "pin", { asOf: revision })).toEqual([]);
      await store.erase([second], other);
      expect(await keys(store, "pin")).toEqual([]);
    },
  },
  {
    name: "vectors go with what they were made of, and a later version is found by its own",
    async run(store) {
      if (store.erase === undefined) return;
      const vector = { model: "m", values: Float32Array.from([1, 0]) };
      await store.write([{ item: first, based: 0, vector }]);
      expect(await search(store, "", { vector })).toHaveLength(1);
      await store.erase([first], entry);
      expect(await search(store, "", { vector })).toEqual([]);
      await store.write([{ item: second, based: 1, vector }]);
      expect((await search(store, "", { vector })).map(({ version }) => version)).toEqual([2]);
    },
  },
  {
    name: "a write that was erased stays erased when it is made again",
    async run(store) {
      if (store.erase === undefined) return;
      await put(store, first);
      await store.erase([first], entry);
      expect((await put(store, first)).written).toMatchObject([{ content: "", erased: entry }]);
      expect(await keys(store, "4711")).toEqual([]);
    },
  },
];
