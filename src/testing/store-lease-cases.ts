/** The store contract: runs, leases and fencing. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Lease, RunRow, Store, StoredEvent } from "../store/store.ts";
import { branch, collect, type StoreCase } from "./store-case.ts";
import { storedChain, storedEvent } from "./stored-event.ts";
import { expect } from "./vitest.ts";

const run: RunRow = { id: "r", key: undefined, session: "s", workflow: "w", status: "running", wakeAt: undefined };
const long = 60_000;

async function claimed(store: Store, worker: string): Promise<Lease> {
  await store.append({ branches: [], run });
  const lease = await store.claim("r", worker, long);
  if (lease === undefined) throw new Error("the run could not be claimed");
  return lease;
}

async function owner(store: Store): Promise<string | undefined> {
  return (await collect(store.runs({ id: "r" })))[0]?.owner;
}

export const leaseCases: readonly StoreCase[] = [
  {
    name: "a claim holds off other workers until it expires",
    async run(store) {
      const held = await claimed(store, "a");
      expect(held).toMatchObject({ run: "r" });
      expect(Date.parse(held.expires)).not.toBeNaN();
      expect(await store.claim("r", "b", long)).toBeUndefined();
      expect(await owner(store)).toBe("a");
      // Only what has to run out is short: how long a store takes for a claim is not judged here.
      const first = await store.claim("r", "a", 30);
      await sleep(60);
      expect(await owner(store)).toBeUndefined();
      const second = await store.claim("r", "b", long);
      expect(second?.epoch).toBe((first?.epoch ?? 0) + 1);
      expect(await owner(store)).toBe("b");
    },
  },
  {
    name: "claiming an unknown run gives nothing",
    async run(store) {
      expect(await store.claim("nobody", "a", long)).toBeUndefined();
      expect(await collect(store.runs({}))).toEqual([]);
    },
  },
  {
    name: "exactly one of many claims wins",
    async run(store) {
      await store.append({ branches: [], run });
      const leases = await Promise.all(["a", "b", "c", "d"].map((worker) => store.claim("r", worker, long)));
      expect(leases.filter(Boolean)).toHaveLength(1);
    },
  },
  {
    name: "the same worker may claim again and fences itself",
    async run(store) {
      const first = await claimed(store, "a");
      const second = await store.claim("r", "a", long);
      expect(second?.epoch).toBe(first.epoch + 1);
      expect(await store.append({ branches: [branch([storedEvent({ session: "s" })])], lease: first })).toEqual({
        ok: false,
        reason: "epoch",
        epoch: second?.epoch,
      });
    },
  },
  {
    name: "a claim from a dead owner takes its lease and nobody else's",
    async run(store) {
      const first = await claimed(store, "dead");
      expect(await store.claim("r", "b", long, { from: "somebody" })).toBeUndefined();
      expect(await store.claim("r", "b", long, { from: "dead" })).toMatchObject({ epoch: first.epoch + 1 });
      expect(await store.claim("r", "c", long, { from: "dead" })).toBeUndefined();
    },
  },
  {
    name: "renew lengthens a lease until it is taken over",
    async run(store) {
      await store.append({ branches: [], run });
      const first = (await store.claim("r", "a", 20)) as Lease;
      await sleep(40);
      const renewed = await store.renew(first, long);
      expect(renewed).toMatchObject({ run: "r", epoch: first.epoch });
      expect(Date.parse(renewed?.expires ?? "")).toBeGreaterThan(Date.parse(first.expires));
      expect(await store.claim("r", "b", long)).toBeUndefined();
      await store.claim("r", "b", long, { from: "a" });
      expect(await store.renew(first, long)).toBeUndefined();
      expect(await store.renew({ run: "nobody", epoch: 1, expires: first.expires }, long)).toBeUndefined();
    },
  },
  {
    name: "release frees a run, and a stale release does not",
    async run(store) {
      const first = await claimed(store, "a");
      await store.release(first);
      expect(await owner(store)).toBeUndefined();
      expect(await store.renew(first, long)).toBeUndefined();
      const second = (await store.claim("r", "b", long)) as Lease;
      expect(second.epoch).toBe(first.epoch + 1);
      await store.release(first);
      expect(await owner(store)).toBe("b");
    },
  },
  {
    name: "a run is known to have been claimed from then on, whoever writes its row",
    async run(store) {
      const known = async (): Promise<unknown> => (await collect(store.runs({ id: "r" })))[0]?.claimed;
      await store.append({ branches: [], run: { ...run, claimed: true } });
      expect(await known()).toBeUndefined();
      const lease = (await store.claim("r", "a", long)) as Lease;
      expect(await known()).toBe(true);
      await store.append({ branches: [], run: { ...run, status: "queued" }, lease, release: true });
      expect(await known()).toBe(true);
    },
  },
  {
    name: "a run is known to have been taken from then on",
    async run(store) {
      await store.append({ branches: [], run: { ...run, status: "queued", wakeAt: new Date(0).toISOString() } });
      const [taken] = await store.take({ workflows: ["w"], limit: 1 }, "a", long);
      expect(taken?.row.claimed).toBe(true);
      await store.release(taken?.lease as Lease);
      expect((await collect(store.runs({ id: "r" })))[0]?.claimed).toBe(true);
    },
  },
  {
    name: "an expired lease that nobody took over still appends",
    async run(store) {
      await store.append({ branches: [], run });
      const lease = (await store.claim("r", "a", 1)) as Lease;
      await sleep(10);
      expect(await store.append({ branches: [branch([storedEvent({ session: "s" })])], lease })).toEqual({ ok: true });
    },
  },
  {
    name: "a zombie is fenced before the new owner has appended anything",
    async run(store) {
      const zombie = await claimed(store, "a");
      const [root, next] = storedChain([{}, {}], "s") as [StoredEvent, StoredEvent];
      expect(await store.append({ branches: [branch([root])], lease: zombie })).toEqual({ ok: true });
      const taken = (await store.claim("r", "b", long, { from: "a" })) as Lease;
      expect(await store.append({ branches: [branch([next], root)], lease: zombie })).toEqual({
        ok: false,
        reason: "epoch",
        epoch: taken.epoch,
      });
      expect(await collect(store.events({ session: "s" }))).toHaveLength(1);
      expect(await store.append({ branches: [branch([next], root)], lease: taken })).toEqual({ ok: true });
    },
  },
  {
    name: "a takeover fences every branch of the run, forks and new logs too",
    async run(store) {
      const zombie = await claimed(store, "a");
      const root = storedEvent({ session: "s" });
      const fork = storedEvent({ session: "fork", step: 1, parents: [root.id] });
      await store.append({ branches: [branch([root]), branch([fork])], lease: zombie });
      const taken = (await store.claim("r", "b", long, { from: "a" })) as Lease;
      const refused = { ok: false, reason: "epoch", epoch: taken.epoch };
      await store.append({ branches: [branch(storedChain([{}], "s", root), root)], lease: taken });
      expect(await store.append({ branches: [branch(storedChain([{}], "fork", fork), fork)], lease: zombie })).toEqual(refused);
      expect(await store.append({ branches: [branch([storedEvent({ session: "second fork" })])], lease: zombie })).toEqual(refused);
      expect(await store.append({ branches: [], run: { ...run, status: "finished" }, lease: zombie })).toEqual(refused);
      expect(await collect(store.events({ session: "fork" }))).toHaveLength(1);
      expect(await collect(store.runs({}))).toMatchObject([{ status: "running" }]);
    },
  },
  {
    name: "the epoch is judged before heads, and a run without a row has none",
    async run(store) {
      const lease = { run: "nobody", epoch: 0, expires: new Date().toISOString() };
      const [a, b] = storedChain([{}, {}], "s") as [StoredEvent, StoredEvent];
      expect(await store.append({ branches: [branch([b], a)], lease })).toEqual({ ok: false, reason: "epoch", epoch: 0 });
    },
  },
  {
    name: "a refused write does not hold back those beside it",
    async run(store) {
      const stale = await claimed(store, "a");
      const lease = (await store.claim("r", "a", long)) as Lease;
      const writes = ["x", "y", "z"].map((session) => ({
        branches: [branch([storedEvent({ session })])],
        lease: session === "y" ? stale : lease,
      }));
      const written = await Promise.all(writes.map((write) => store.append(write)));
      expect(written.map(({ ok }) => ok)).toEqual([true, false, true]);
      expect((await collect(store.sessions({}))).map(({ id }) => id)).toEqual(["x", "z"]);
    },
  },
  {
    name: "writing a run row leaves its owner and epoch alone",
    async run(store) {
      const lease = await claimed(store, "a");
      const event = storedEvent({ session: "s" });
      await store.append({ branches: [], run: { ...run, status: "parked", wakeAt: "2030-01-01T00:00:00.000Z", owner: "mallory" }, lease });
      expect(await collect(store.runs({}))).toMatchObject([{ id: "r", status: "parked", wakeAt: "2030-01-01T00:00:00.000Z", owner: "a" }]);
      expect(await store.append({ branches: [branch([event])], lease })).toEqual({ ok: true });
    },
  },
];
