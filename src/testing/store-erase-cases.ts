/** The store contract: erasing data and removing logs. Stores without `erase` or `remove` pass. */

import type { Store, StoredEvent } from "../store/store.ts";
import { branch, collect, plain, type StoreCase } from "./store-case.ts";
import { storedChain } from "./stored-event.ts";
import { expect } from "./vitest.ts";

const [entry, other] = ["e".repeat(64), "f".repeat(64)];
const ok = { ok: true };
const read = async (store: Store, query: Parameters<Store["events"]>[0]) => plain(await collect(store.events(query)));
const erasedIn = (event: object, by = entry): object => ({ ...event, data: undefined, erased: by });
const idOf = (events: readonly StoredEvent[], at: number): string => (events[at] as StoredEvent).id;
const placed = (events: readonly StoredEvent[]) => ({ session: events[0]?.session ?? "", head: events.at(-1)?.id ?? "" });
const row = (id: string, session: string) => ({ id, key: `key of ${id}`, session, workflow: "w", status: "done", wakeAt: undefined });

const patienceMs = 10_000;

/** The place after all that was appended, once the feed tells of it: somebody else's write may hold it back. */
async function placeAfter(store: Store, last: readonly StoredEvent[]): Promise<string> {
  for (const until = Date.now() + patienceMs; ; )
    for await (const { place, events } of store.feed({})) if (events.at(-1)?.id === last.at(-1)?.id || Date.now() > until) return place;
}

export const eraseCases: readonly StoreCase[] = [
  {
    name: "erase removes data, keeps envelopes, and says by which entry",
    async run(store) {
      const events = storedChain([{ data: "one" }, { data: "two" }, { data: "three" }], "s");
      await store.append({ branches: [branch(events.slice(0, 2))] });
      await store.append({ branches: [branch(events.slice(2), events[1])] });
      if (!store.erase) return;
      await store.erase([idOf(events, 1), idOf(events, 2), "0".repeat(64)], entry);
      const expected = plain(events).map((event, i) => (i === 0 ? event : erasedIn(event)));
      expect(await read(store, { session: "s" })).toEqual(expected);
      expect(await read(store, { ids: events.map(({ id }) => id) })).toEqual(expected);
      const next = storedChain([{}], "s", events[2]);
      expect(await store.append({ branches: [branch(next, events[2])] })).toEqual(ok);
    },
  },
  {
    name: "what was erased keeps the entry it names",
    async run(store) {
      const events = storedChain(Array(5).fill({ data: "x", run: "r" }), "s");
      await store.append({ branches: [branch(events)] });
      if (!store.erase) return;
      await store.erase([idOf(events, 1)], entry);
      await Promise.all([store.erase([idOf(events, 1), idOf(events, 2)], other), store.erase([idOf(events, 3)], entry)]);
      const expected = plain(events).map((event, i) => ([1, 3].includes(i) ? erasedIn(event) : i === 2 ? erasedIn(event, other) : event));
      expect(await read(store, { session: "s" })).toEqual(expected);
      expect(await read(store, { run: "r" })).toEqual(expected);
      await store.erase([], entry);
      expect(await store.scrub?.()).not.toBe(false);
      expect(await read(store, { session: "s" })).toEqual(expected);
    },
  },
  {
    name: "an event may come erased, and one of nobody knows whom",
    async run(store) {
      const events = storedChain([{ data: "a" }, { data: "b" }, { data: "c" }], "s");
      const given = events.map((event, i) => (i === 0 ? event : { ...event, data: undefined, ...(i === 1 ? { erased: entry } : {}) }));
      await store.append({ branches: [branch(given)] });
      expect(await read(store, { session: "s" })).toEqual(plain(given));
    },
  },
  {
    name: "with the first event goes what was said of the log",
    async run(store) {
      const events = storedChain([{ data: "a" }, { data: "b" }], "s");
      const about = { log: "session" as const, title: "Her name", tags: ["one"], principal: "p" };
      await store.append({ branches: [{ ...branch(events), about }] });
      if (!store.erase) return;
      await store.erase([idOf(events, 1)], entry);
      expect(await collect(store.sessions({ tag: "one" }))).toMatchObject([{ id: "s", title: "Her name", principal: "p" }]);
      await store.erase([idOf(events, 0)], entry);
      const [left] = await collect(store.sessions({}));
      expect(left).toMatchObject({ id: "s", tags: [], principal: "p" });
      expect(left?.title).toBeUndefined();
      expect(await collect(store.sessions({ tag: "one" }))).toEqual([]);
    },
  },
  {
    name: "remove takes logs with their events and rows of runs, and nothing else",
    async run(store) {
      if (!store.remove) return;
      const [kept, gone, own] = ["kept", "gone", "run"].map((session) =>
        storedChain(Array(40).fill({ data: session, run: "run" }), session),
      );
      if (kept === undefined || gone === undefined || own === undefined) return;
      const branches = [kept, gone, own].map((events) => branch(events));
      await store.append({ branches, run: row("run", "gone") });
      await store.append({ branches: [], run: row("other", "kept") });
      await collect(store.events({ ids: [idOf(gone, 3)] }));
      expect(await store.remove([placed(gone), placed(own)])).toBe(true);
      expect((await collect(store.sessions({}))).map(({ id }) => id)).toEqual(["kept"]);
      expect((await collect(store.runs({}))).map(({ id }) => id)).toEqual(["other"]);
      expect(await read(store, { ids: [idOf(gone, 3), idOf(own, 0), idOf(kept, 5)] })).toEqual(plain(kept.slice(5, 6)));
      expect(await read(store, { run: "run" })).toEqual(plain(kept));
      expect(await read(store, { session: "gone" })).toEqual([]);
      expect(await store.scrub?.()).not.toBe(false);
      expect(await read(store, { session: "kept" })).toEqual(plain(kept));
      expect(await store.append({ branches: [branch(storedChain([{}], "gone", gone.at(-1)), gone.at(-1))] })).toMatchObject({
        ok: false,
        head: undefined,
      });
      const again = storedChain([{ data: "again", run: "run" }], "gone");
      expect(await store.append({ branches: [branch(again)], run: { ...row("new", "gone"), key: "key of run" } })).toEqual(ok);
      expect(await read(store, { session: "gone" })).toEqual(plain(again));
    },
  },
  {
    name: "remove takes nothing when a log has grown or is continued elsewhere",
    async run(store) {
      if (!store.remove) return;
      const [base, lone] = [storedChain([{}, {}], "base"), storedChain([{}], "lone")];
      await store.append({ branches: [branch(base), branch(lone)] });
      const before = [placed(base), placed(lone)];
      const fork = storedChain([{}], "fork", base[1]);
      await store.append({
        branches: [{ session: "fork", expectedHead: undefined, events: fork, about: { log: "session", parent: "base" } }],
      });
      expect(await store.remove(before)).toBe(false);
      expect(await store.remove([placed(lone), { session: "none", head: entry }])).toBe(false);
      const more = storedChain([{}], "lone", lone[0]);
      await store.append({ branches: [branch(more, lone[0])] });
      expect(await store.remove([placed(lone)])).toBe(false);
      expect(await collect(store.sessions({}))).toHaveLength(3);
      expect(await store.remove([placed(base), placed(fork), placed(more)])).toBe(true);
      expect(await collect(store.sessions({}))).toEqual([]);
    },
  },
  {
    name: "remove takes nothing when something was appended after the place that is given",
    async run(store) {
      if (!store.remove) return;
      const [old, beside] = [storedChain([{}, {}], "old"), storedChain([{}, {}], "beside")];
      await store.append({ branches: [branch(old), branch(beside.slice(0, 1))] });
      let after = await placeAfter(store, beside.slice(0, 1));
      const refused = async (last: readonly StoredEvent[]): Promise<void> => {
        expect(await (store as Required<Store>).remove([placed(old)], { after })).toBe(false);
        expect(await read(store, { session: "old" })).toEqual(plain(old));
        after = await placeAfter(store, last);
      };
      const fresh = storedChain([{}], "new");
      await store.append({ branches: [branch(fresh)] });
      await refused(fresh);
      await store.append({ branches: [branch(beside.slice(1), beside[0])] });
      await refused(beside);
      const own = storedChain([{ run: "run" }], "run");
      await store.append({ branches: [{ ...branch(own), about: { log: "run" } }], run: row("run", "old") });
      await refused(own);
      expect(await store.remove([placed(old)], { after })).toBe(true);
      expect((await collect(store.sessions({}))).map(({ id }) => id)).toEqual(["beside", "new", "run"]);
    },
  },
  {
    name: "entries of erasures after the place, claims and rows of runs keep no log",
    async run(store) {
      if (!store.remove) return;
      const [old, kept, erasures] = [storedChain([{}], "old"), storedChain([{}], "kept"), storedChain([{}, {}], "erasures")];
      const about = { log: "erasure" as const };
      await store.append({ branches: [branch(old), { ...branch(erasures.slice(0, 1)), about }, branch(kept)], run: row("r", "kept") });
      const after = await placeAfter(store, kept);
      await store.append({ branches: [branch(erasures.slice(1), erasures[0])] });
      await store.claim("r", "worker", 60_000);
      await store.append({ branches: [], run: row("r", "kept") });
      expect(await store.remove([placed(old)], { after })).toBe(true);
      expect((await collect(store.sessions({}))).map(({ id }) => id)).toEqual(["erasures", "kept"]);
    },
  },
  {
    name: "remove refuses a place that the feed never had",
    async run(store) {
      if (!store.remove) return;
      const old = storedChain([{}], "old");
      await store.append({ branches: [branch(old)] });
      for (const after of ["", "yesterday", "9".repeat(16)])
        await expect(store.remove([placed(old)], { after })).rejects.toMatchObject({ code: "stream.gone" });
      expect(await read(store, { session: "old" })).toEqual(plain(old));
    },
  },
  {
    name: "what another store appended after the place keeps logs",
    reopens: true,
    async run(store, reopen) {
      if (!store.remove) return;
      const [old, more] = [storedChain([{}], "old"), storedChain([{}], "more")];
      await store.append({ branches: [branch(old)] });
      const after = await placeAfter(store, old);
      await using other = await reopen(store);
      await other.append({ branches: [branch(more)] });
      expect(await store.remove([placed(old)], { after })).toBe(false);
      expect(await store.remove([placed(old)], { after: await placeAfter(store, more) })).toBe(true);
    },
  },
  {
    name: "a log that others removed cannot be continued by who remembers it",
    reopens: true,
    async run(store, reopen) {
      if (!store.remove) return;
      const events = storedChain(Array(3).fill({ run: "r" }), "s");
      await store.append({ branches: [branch(events)] });
      await using other = await reopen(store);
      expect(await other.remove?.([placed(events)])).toBe(true);
      const next = storedChain([{ run: "r", order: 9 }], "s", events[2]);
      expect(await store.append({ branches: [branch(next, events[2])] })).toMatchObject({ ok: false, reason: "head", head: undefined });
      expect(await other.append({ branches: [branch(storedChain([{ data: "new" }], "t"))] })).toEqual(ok);
      expect(await collect(store.events({ session: "s" }))).toEqual([]);
      expect(await collect(store.events({ session: "t" }))).toHaveLength(1);
    },
  },
];
