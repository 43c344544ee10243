/** The store contract: removing blobs that nobody needs. Stores without `sweep` pass. */
import { hash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Store, StoredEvent, SweepOptions } from "../store/store.ts";
import { branch, collect, type StoreCase } from "./store-case.ts";
import { storedChain } from "./stored-event.ts";
import { expect } from "./vitest.ts";

const blobOf = (text: string) => ({ hash: hash("sha256", text), bytes: Buffer.from(text) });
const [kept, garbage, young] = ["kept", "garbage ".repeat(1000), "young"].map(blobOf) as [Blob, Blob, Blob];
type Blob = ReturnType<typeof blobOf>;

/** A time by the store's clock, which is this machine's: everything before it is older, by more than a tick. */
async function moment(): Promise<string> {
  await sleep(20);
  const now = new Date().toISOString();
  await sleep(20);
  return now;
}

const keepingOnly =
  (...blobs: readonly Blob[]) =>
  async () =>
  (name: string) =>
    blobs.some((blob) => blob.hash === name);
const sweep = async (store: Store, before: string, dryRun: boolean, ...keep: readonly Blob[]) =>
  (await collect((store as Required<Store>).sweep({ before, dryRun, keeping: keepingOnly(...keep) }))).map((swept) => swept.hash);
const has = async (store: Store, blob: Blob) => (await store.blob(blob.hash)) !== undefined;

export const sweepCases: readonly StoreCase[] = [
  {
    name: "a sweep removes old blobs that are not kept, and no others",
    async run(store) {
      if (store.sweep === undefined) return;
      await store.append({ branches: [], blobs: [kept, garbage] });
      const before = await moment();
      await store.append({ branches: [], blobs: [young] });
      expect(await sweep(store, before, true, kept)).toEqual([garbage.hash]);
      expect(await has(store, garbage)).toBe(true);
      expect(await sweep(store, before, false, kept)).toEqual([garbage.hash]);
      expect(await Promise.all([kept, garbage, young].map((blob) => has(store, blob)))).toEqual([true, false, true]);
      expect(await sweep(store, before, false, kept)).toEqual([]);
      await store.append({ branches: [], blobs: [garbage] });
      expect(Buffer.from((await store.blob(garbage.hash)) ?? [])).toEqual(garbage.bytes);
    },
  },
  {
    name: "a blob that is put again counts as young",
    async run(store) {
      if (store.sweep === undefined) return;
      await store.append({ branches: [], blobs: [garbage] });
      const before = await moment();
      await store.append({ branches: [], blobs: [garbage] });
      expect(await sweep(store, before, false)).toEqual([]);
      expect(await has(store, garbage)).toBe(true);
    },
  },
  {
    name: "a blob that is put during a sweep stays",
    async run(store) {
      if (store.sweep === undefined) return;
      await store.append({ branches: [], blobs: [garbage] });
      const before = await moment();
      const keeping = async () => {
        await store.append({ branches: [], blobs: [garbage] });
        return () => false;
      };
      expect(await collect(store.sweep({ before, dryRun: false, keeping }))).toEqual([]);
      expect(await has(store, garbage)).toBe(true);
    },
  },
  {
    name: "whoever says what stays sees every event of every log",
    async run(store) {
      if (store.sweep === undefined) return;
      const logs = ["a", "b", "c"].map((session) => storedChain(Array(40).fill({ data: session }), session));
      for (const [index, events] of logs.entries())
        await store.append({
          branches: [{ ...branch(events), about: { log: (["session", "run", "answer"] as const)[index] ?? "session" } }],
        });
      const seen: string[] = [];
      const keeping: SweepOptions["keeping"] = async (events) => {
        for await (const { id } of events) seen.push(id);
        return () => true;
      };
      await collect(store.sweep({ before: new Date().toISOString(), dryRun: false, keeping }));
      expect(seen.sort()).toEqual(
        logs
          .flat()
          .map(({ id }) => id)
          .sort(),
      );
    },
  },
  {
    name: "an event that is appended during a sweep and names an old blob keeps it",
    async run(store) {
      if (store.sweep === undefined) return;
      const [first, ...others] = storedChain(Array(6).fill({ data: "x" }), "a");
      const later = storedChain(Array(3).fill({ data: "y" }), "b");
      await store.append({ branches: [branch([first as StoredEvent])], blobs: [kept, garbage, young] });
      const asked: string[][] = [];
      let keeps = false;
      const keeping: SweepOptions["keeping"] = async (events) => {
        const ids = (await collect(events)).map(({ id }) => id);
        asked.push(ids);
        if (asked.length === 1) {
          await store.append({ branches: [{ ...branch(others), expectedHead: first?.id }] });
          await store.append({ branches: [branch(later)] });
        }
        // It names the blob and does not put it: only who sees the event knows.
        keeps ||= ids.includes(later[2]?.id ?? "");
        return (name) => keeps && name === kept.hash;
      };
      await sleep(20);
      const gone = await collect(store.sweep({ dryRun: false, keeping }));
      expect(new Set(gone.map(({ hash: name }) => name))).toEqual(new Set([garbage.hash, young.hash]));
      expect(asked.map((ids) => ids.sort())).toEqual([[first?.id], [...others, ...later].map(({ id }) => id).sort()]);
      expect(await has(store, kept)).toBe(true);
    },
  },
  {
    name: "a sweep removes nothing when nobody can say what stays",
    async run(store) {
      if (store.sweep === undefined) return;
      await store.append({ branches: [], blobs: [garbage] });
      const before = await moment();
      const keeping = () => Promise.reject(new Error("unreadable"));
      await expect(collect(store.sweep({ before, dryRun: false, keeping }))).rejects.toThrow("unreadable");
      expect(await has(store, garbage)).toBe(true);
    },
  },
];
