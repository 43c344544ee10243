/** The store contract: runs that are due, taking them, waking them, and giving them back in the commit. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Lease, RunQuery, RunRow, Store, TakenRun, TakeQuery } from "../store/store.ts";
import { branch, collect, type StoreCase } from "./store-case.ts";
import { storedEvent } from "./stored-event.ts";
import { expect } from "./vitest.ts";

const long = 60_000;
const past = "2026-01-01T00:00:00.000Z";
const future = "2999-01-01T00:00:00.000Z";

function row(id: string, rest: Partial<RunRow> = {}): RunRow {
  return { id, key: undefined, session: "s", workflow: "w", status: "waiting", wakeAt: undefined, ...rest };
}

async function put(store: Store, ...rows: readonly RunRow[]): Promise<void> {
  for (const run of rows) expect(await store.append({ branches: [], run })).toEqual({ ok: true });
}

function take(store: Store, worker = "a", query: Partial<TakeQuery> = {}, forMs = long): Promise<readonly TakenRun[]> {
  return store.take({ workflows: ["w"], limit: 100, ...query }, worker, forMs);
}

const idsOf = (taken: readonly TakenRun[]): string[] => taken.map(({ row }) => row.id);
const found = async (store: Store, query: RunQuery): Promise<string[]> => (await collect(store.runs(query))).map(({ id }) => id);

async function held(store: Store, rest: Partial<RunRow> = {}, worker = "a"): Promise<Lease> {
  await put(store, row("r", rest));
  const lease = await store.claim("r", worker, long);
  if (lease === undefined) throw new Error("the run could not be claimed");
  return lease;
}

/** A write that is refused for its head, whatever else is in it. */
const stale = { branches: [{ ...branch([storedEvent({ session: "s" })]), expectedHead: "f".repeat(64) }] };

export const takeCases: readonly StoreCase[] = [
  {
    name: "a run is due when it is free and its time has come",
    async run(store) {
      await put(store, row("parked"), row("later", { wakeAt: future }), row("due", { wakeAt: past }));
      expect(idsOf(await take(store))).toEqual(["due"]);
      const soon = Date.now() + 50;
      await put(store, row("soon", { wakeAt: new Date(soon).toISOString() }));
      let taken = await take(store);
      for (; taken.length === 0; taken = await take(store)) await sleep(5);
      expect(Date.now()).toBeGreaterThanOrEqual(soon);
      expect(idsOf(taken)).toEqual(["soon"]);
      expect(await take(store)).toEqual([]);
    },
  },
  {
    name: "a taken run comes with its row and a lease that writes and fences as a claim does",
    async run(store) {
      const written = row("r", { key: "k", session: "its session", status: "queued", wakeAt: past, priority: 3 });
      await put(store, written);
      const [taken] = await take(store, "a");
      const lease = taken?.lease as Lease;
      expect(taken?.row).toMatchObject({ ...written, owner: "a" });
      expect(taken?.row.woken ?? false).toBe(false);
      expect(Date.parse(lease.expires)).toBeGreaterThan(Date.now());
      expect(await store.append({ branches: [branch([storedEvent({ session: "s" })])], lease })).toEqual({ ok: true });
      expect(await store.claim("r", "b", long)).toBeUndefined();
      expect(await store.renew(lease, long)).toMatchObject({ run: "r", epoch: lease.epoch });
      expect((await store.claim("r", "b", long, { from: "a" }))?.epoch).toBe(lease.epoch + 1);
    },
  },
  {
    name: "the highest priority goes first, then the longest due",
    async run(store) {
      const day = (n: number): string => `2026-01-0${n}T00:00:00.000Z`;
      await put(store, row("low", { wakeAt: day(1), priority: -1 }), row("third", { wakeAt: day(3) }), row("first", { wakeAt: day(1) }));
      await put(store, row("high", { wakeAt: day(9), priority: 2 }), row("half", { wakeAt: day(1), priority: 0.5 }));
      await put(store, row("second", { wakeAt: day(2), priority: 0 }), row("lowest", { wakeAt: day(1), priority: -1.5 }));
      const order = ["high", "half", "first", "second", "third", "low", "lowest"];
      expect(idsOf(await take(store, "a", { limit: 2 }))).toEqual(order.slice(0, 2));
      expect(idsOf(await take(store, "a", { limit: 3 }))).toEqual(order.slice(2, 5));
      expect(idsOf(await take(store))).toEqual(order.slice(5));
    },
  },
  {
    name: "the order holds for a backlog, across workflows and for runs whose holder died",
    async run(store) {
      const rows = Array.from({ length: 200 }, (_, i) => {
        const wakeAt = new Date(Date.parse(past) + ((i * 37) % 200) * 1000).toISOString();
        return row(`r${i}`, { workflow: i % 3 === 0 ? "v" : "w", priority: i % 5, wakeAt });
      });
      await Promise.all(rows.map((run) => put(store, run)));
      // Those are due since their leases ran out, after all others.
      const died = new Map<string, string>();
      for (const { id } of rows.filter((_, i) => i % 7 === 0)) {
        await sleep(2);
        died.set(id, (await store.claim(id, "dead", 0))?.expires ?? "");
      }
      const since = ({ id, wakeAt = "" }: RunRow): string => died.get(id) ?? wakeAt;
      const urgent = (a: RunRow, b: RunRow) =>
        (b.priority ?? 0) - (a.priority ?? 0) || (since(a) < since(b) ? -1 : since(a) > since(b) ? 1 : 0);
      const expected = rows.toSorted(urgent).map(({ id }) => id);
      const taken: string[] = [];
      for (let i = 0; i < 5; i++) taken.push(...idsOf(await take(store, "a", { workflows: ["w", "v"], limit: 40 })));
      expect(taken).toEqual(expected);
    },
  },
  {
    name: "a rewritten row is due by its new time and priority",
    async run(store) {
      await put(store, row("a", { wakeAt: past }), row("b", { wakeAt: past, priority: 5 }), row("c", { wakeAt: past }));
      await put(store, row("a", { wakeAt: future }), row("b", { wakeAt: past }), row("c", { wakeAt: past, priority: 1 }));
      expect(idsOf(await take(store))).toEqual(["c", "b"]);
    },
  },
  {
    name: "no more are taken than asked for, and none without a limit or a workflow",
    async run(store) {
      await put(store, row("a", { wakeAt: past }), row("b", { wakeAt: past }));
      expect(await take(store, "a", { limit: 0 })).toEqual([]);
      expect(await take(store, "a", { workflows: [] })).toEqual([]);
      expect(await take(store, "a", { limit: 1 })).toHaveLength(1);
      expect(await take(store)).toHaveLength(1);
    },
  },
  {
    name: "runs of workflows that the worker does not know are left",
    async run(store) {
      await put(
        store,
        row("a", { wakeAt: past, workflow: "other", priority: 9 }),
        row("b", { wakeAt: past }),
        row("c", { wakeAt: past, workflow: "W" }),
      );
      expect(idsOf(await take(store))).toEqual(["b"]);
      expect(idsOf(await take(store, "a", { workflows: ["other", "W", "w", "other"] }))).toEqual(["a", "c"]);
    },
  },
  {
    name: "held runs are not taken, by their holder neither",
    async run(store) {
      await held(store, { wakeAt: past });
      await store.append({ branches: [], wake: ["r"] });
      expect(await take(store, "b")).toEqual([]);
      expect(await take(store, "a")).toEqual([]);
    },
  },
  {
    name: "an expired lease is taken, fenced and said to be abandoned",
    async run(store) {
      await put(store, row("r", { wakeAt: past }));
      const [first] = await take(store, "a", {}, 20);
      expect(first?.lease.abandoned ?? false).toBe(false);
      await sleep(40);
      const [second] = await take(store, "b");
      expect(second).toMatchObject({ row: { owner: "b" }, lease: { epoch: (first?.lease.epoch ?? 0) + 1, abandoned: true } });
      const write = { branches: [branch([storedEvent({ session: "s" })])], lease: first?.lease };
      expect(await store.append(write)).toEqual({ ok: false, reason: "epoch", epoch: second?.lease.epoch });
      expect(await store.renew(first?.lease as Lease, long)).toBeUndefined();
    },
  },
  {
    name: "a run whose holder let the lease run out is due, whatever its row says",
    async run(store) {
      await put(store, row("r"), row("later", { wakeAt: future }), row("free"));
      for (const id of ["r", "later"]) await store.claim(id, "a", 0);
      const taken = await take(store, "b");
      expect(idsOf(taken).sort()).toEqual(["later", "r"]);
      expect(taken.every(({ lease }) => lease.abandoned === true)).toBe(true);
    },
  },
  {
    name: "a lease that was given back is not abandoned, even if it had expired",
    async run(store) {
      await put(store, row("r", { wakeAt: past }));
      const [first] = await take(store, "a", {}, 0);
      await store.release(first?.lease as Lease);
      const [second] = await take(store, "b", {}, 0);
      expect(second?.lease.abandoned ?? false).toBe(false);
      expect(await store.append({ branches: [], lease: second?.lease, release: true })).toEqual({ ok: true });
      expect((await store.claim("r", "c", long))?.abandoned ?? false).toBe(false);
    },
  },
  {
    name: "a claim says abandoned of another's lease and of its own that ran out, not of its own that lasts",
    async run(store) {
      const first = await held(store);
      expect(first.abandoned ?? false).toBe(false);
      expect((await store.claim("r", "a", long))?.abandoned ?? false).toBe(false);
      expect((await store.claim("r", "b", 0, { from: "a" }))?.abandoned).toBe(true);
      expect((await store.claim("r", "b", long))?.abandoned).toBe(true);
      expect((await store.renew((await store.claim("r", "b", long)) as Lease, long))?.abandoned ?? false).toBe(false);
    },
  },
  {
    name: "many workers that take at once share the runs: each run once, none left",
    async run(store) {
      const rows = Array.from({ length: 100 }, (_, i) => row(`r${i}`, { wakeAt: past, priority: i % 3 }));
      await Promise.all(rows.map((run) => put(store, run)));
      const taken: string[] = [];
      const work = async (worker: string): Promise<void> => {
        let got: readonly TakenRun[];
        do {
          got = await take(store, worker, { limit: 3 });
          taken.push(...idsOf(got));
          // A store that hands out the same runs again would never end.
        } while (got.length > 0 && taken.length <= rows.length);
      };
      await Promise.all(Array.from({ length: 20 }, (_, i) => work(`worker-${i}`)));
      expect(taken).toHaveLength(rows.length);
      expect(new Set(taken).size).toBe(rows.length);
      expect(new Set((await collect(store.runs({}))).map(({ owner }) => owner)).has(undefined)).toBe(false);
    },
  },
  {
    name: "claims and takes at once: one of them wins",
    async run(store) {
      await put(store, row("r", { wakeAt: past }));
      const claims = ["a", "b"].map(async (worker) => [await store.claim("r", worker, long)].filter((lease) => lease !== undefined));
      const takes = ["c", "d"].map((worker) => take(store, worker));
      expect((await Promise.all([...claims, ...takes])).flat()).toHaveLength(1);
    },
  },
  {
    name: "a free run that is woken is due at once, and no longer once it was taken",
    async run(store) {
      await put(store, row("parked"), row("later", { wakeAt: future }), row("other"));
      expect(await store.append({ branches: [], wake: ["parked", "nobody", "later"] })).toEqual({ ok: true });
      expect(await found(store, { woken: true })).toEqual(["parked", "later"]);
      expect(await found(store, {})).toEqual(["parked", "later", "other"]);
      const taken = await take(store);
      expect(idsOf(taken).sort()).toEqual(["later", "parked"]);
      expect(await found(store, { woken: true })).toEqual([]);
      for (const { lease } of taken) await store.release(lease);
      expect(await take(store)).toEqual([]);
    },
  },
  {
    name: "a woken run is due since it was woken",
    async run(store) {
      await put(store, row("early", { wakeAt: past }), row("woken"));
      await store.append({ branches: [], wake: ["woken"] });
      await sleep(10);
      await put(store, row("late", { wakeAt: new Date().toISOString() }));
      await store.append({ branches: [], wake: ["woken", "early"] });
      await sleep(10);
      expect(idsOf(await take(store))).toEqual(["early", "woken", "late"]);
    },
  },
  {
    name: "a row is written and woken in one commit",
    async run(store) {
      expect(await store.append({ branches: [], run: row("r"), wake: ["r"] })).toEqual({ ok: true });
      expect(idsOf(await take(store))).toEqual(["r"]);
    },
  },
  {
    name: "the holder of a woken run sees that it was woken, until it claims or renews",
    async run(store) {
      const lease = await held(store);
      await put(store, row("elsewhere"));
      await store.claim("elsewhere", "b", long);
      const news = () => found(store, { owner: "a", woken: true });
      expect(await news()).toEqual([]);
      await store.append({ branches: [], wake: ["r", "elsewhere"] });
      expect(await news()).toEqual(["r"]);
      expect(await collect(store.runs({ owner: "a" }))).toMatchObject([{ id: "r", owner: "a", woken: true }]);
      await store.renew(lease, long);
      expect(await news()).toEqual([]);
      await store.append({ branches: [], wake: ["r"] });
      expect(await news()).toEqual(["r"]);
      await store.claim("r", "a", long);
      expect(await news()).toEqual([]);
      expect(await found(store, { owner: "a" })).toEqual(["r"]);
    },
  },
  {
    name: "an expired lease is nobody's",
    async run(store) {
      await put(store, row("r"));
      await store.claim("r", "a", 0);
      await store.append({ branches: [], wake: ["r"] });
      expect(await found(store, { owner: "a" })).toEqual([]);
      expect(await found(store, { woken: true })).toEqual(["r"]);
    },
  },
  {
    name: "a run that is woken while it parks is due at once",
    async run(store) {
      const lease = await held(store);
      await store.append({ branches: [], wake: ["r"] });
      // Its holder has not heard of it, and parks; what a row says of `woken` is ignored.
      const parking = { branches: [], run: row("r", { status: "waiting", woken: false }), lease, release: true };
      expect(await store.append(parking)).toEqual({ ok: true });
      expect(await found(store, { woken: true })).toEqual(["r"]);
      const [taken] = await take(store, "b");
      expect(taken).toMatchObject({ row: { id: "r", owner: "b" } });
      expect(taken?.lease.abandoned ?? false).toBe(false);
    },
  },
  {
    name: "a run that is woken while it is held is due once it is released by itself",
    async run(store) {
      const lease = await held(store);
      await store.append({ branches: [], wake: ["r"] });
      await store.append({ branches: [], run: row("r", { wakeAt: future }), lease });
      await store.release(lease);
      expect(idsOf(await take(store, "b"))).toEqual(["r"]);
    },
  },
  {
    name: "a row cannot say that it was woken",
    async run(store) {
      await put(store, row("r", { woken: true, owner: "a" }));
      expect(await found(store, { woken: true })).toEqual([]);
      expect(await found(store, { owner: "a" })).toEqual([]);
      expect(await take(store)).toEqual([]);
    },
  },
  {
    name: "a release in a write frees the run with it, also after the lease expired",
    async run(store) {
      await put(store, row("r"));
      const lease = (await store.claim("r", "a", 0)) as Lease;
      const event = storedEvent({ session: "s" });
      const write = { branches: [branch([event])], run: row("r", { status: "queued", wakeAt: past }), lease, release: true };
      expect(await store.append(write)).toEqual({ ok: true });
      expect(await collect(store.events({ session: "s" }))).toHaveLength(1);
      expect(await store.renew(lease, long)).toBeUndefined();
      const [taken] = await take(store, "b");
      expect(taken).toMatchObject({ row: { status: "queued" }, lease: { epoch: lease.epoch + 1 } });
      expect(taken?.lease.abandoned ?? false).toBe(false);
    },
  },
  {
    name: "a release and a wake that come with nothing but events are heeded",
    async run(store) {
      const lease = await held(store);
      await put(store, row("waiting"));
      const events = ["1", "2", "3"].map((data, step) => ({ data, step }));
      let last = storedEvent({ session: "s", run: "r" });
      await store.append({ branches: [branch([last])], lease });
      for (const { data, step } of events) {
        const next = storedEvent({ session: "s", run: "r", step: step + 1, order: step + 1, parents: [last.id], data });
        const also = { ...(step === 1 ? { wake: ["waiting"] } : {}), ...(step === 2 ? { release: true } : {}) };
        expect(await store.append({ branches: [branch([next], last)], lease, ...also })).toEqual({ ok: true });
        last = next;
      }
      expect(await found(store, { woken: true })).toEqual(["waiting"]);
      expect(await found(store, { owner: "a" })).toEqual([]);
    },
  },
  {
    name: "a refused write wakes nobody and releases nothing",
    async run(store) {
      const lease = await held(store);
      await put(store, row("waiting"));
      expect(await store.append({ ...stale, lease, release: true, wake: ["waiting"] })).toMatchObject({ ok: false, reason: "head" });
      expect(await found(store, { owner: "a" })).toEqual(["r"]);
      await put(store, row("keyed", { key: "k" }));
      const conflicting = { branches: [], run: row("other", { key: "k" }), lease, release: true, wake: ["waiting"] };
      await expect(store.append(conflicting)).rejects.toMatchObject({ code: "store.conflict" });
      expect(await found(store, { owner: "a" })).toEqual(["r"]);
      expect(await found(store, { woken: true })).toEqual([]);
      expect(await take(store, "b")).toEqual([]);
    },
  },
  {
    name: "a release with an older epoch is refused with all of its write",
    async run(store) {
      const zombie = await held(store);
      const taken = (await store.claim("r", "b", long, { from: "a" })) as Lease;
      const write = { branches: [], run: row("r", { status: "zombie", wakeAt: past }), lease: zombie, release: true, wake: ["r"] };
      expect(await store.append(write)).toEqual({ ok: false, reason: "epoch", epoch: taken.epoch });
      expect(await collect(store.runs({ owner: "b" }))).toMatchObject([{ status: "waiting", wakeAt: undefined }]);
      expect(await found(store, { woken: true })).toEqual([]);
    },
  },
  {
    name: "writes beside each other wake and release each for itself",
    async run(store) {
      const ids = Array.from({ length: 20 }, (_, i) => `r${i}`);
      await Promise.all(ids.map((id) => put(store, row(id))));
      const leases = await Promise.all(ids.map((id) => store.claim(id, "a", long)));
      const written = await Promise.all(
        leases.map((lease, i) => store.append({ ...(i % 4 === 0 ? stale : { branches: [] }), lease, release: true, wake: [`r${i}`] })),
      );
      expect(written.map(({ ok }) => ok)).toEqual(ids.map((_, i) => i % 4 !== 0));
      expect(await found(store, { owner: "a" })).toEqual(ids.filter((_, i) => i % 4 === 0));
      expect(idsOf(await take(store, "b")).sort()).toEqual(ids.filter((_, i) => i % 4 !== 0).sort());
    },
  },
  {
    name: "what was woken, and how urgent it is, outlives the store that was told",
    reopens: true,
    async run(store, reopen) {
      await put(store, row("low", { priority: -1 }), row("high", { priority: 1.5 }), row("held", { wakeAt: past }));
      await store.claim("held", "dead", 0);
      await store.append({ branches: [], wake: ["low", "high"] });
      await using second = await reopen(store);
      expect(await take(second, "b")).toMatchObject([
        { row: { id: "high", priority: 1.5 } },
        { row: { id: "held" }, lease: { abandoned: true } },
        { row: { id: "low", priority: -1 } },
      ]);
      expect(await take(store, "a")).toEqual([]);
    },
  },
];
