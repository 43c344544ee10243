/**
 * The store contract: events in the order in which the store took them in. A store may give what was appended a little later, since
 * somebody else's write is still under way: then it is asked again.
 */

import type { Fed, Store, StoredEvent } from "../store/store.ts";
import { branch, collect, type StoreCase } from "./store-case.ts";
import { storedChain, storedEvent } from "./stored-event.ts";
import { expect } from "./vitest.ts";

const idsOf = (fed: readonly Fed[]): string[] => fed.flatMap(({ events }) => events.map(({ id }) => id));
const patienceMs = 10_000;

/** What is fed after a place, once this many events are. */
async function fed(store: Store, count: number, after?: string): Promise<Fed[]> {
  const until = Date.now() + patienceMs;
  for (;;) {
    const found = await collect(store.feed({ after }));
    if (idsOf(found).length >= count || Date.now() > until) return found;
  }
}

export const feedCases: readonly StoreCase[] = [
  {
    name: "the feed has every event once, in the order of the writes, whatever the log",
    async run(store) {
      expect(await collect(store.feed({}))).toEqual([]);
      const a = storedChain([{ run: "r", order: 1 }, {}, { data: "three" }], "a");
      const b = storedChain([{}, {}], "b");
      await store.append({ branches: [branch(b.slice(0, 1)), branch(a.slice(0, 2))] });
      await store.append({ branches: [branch(b.slice(1), b[0])] });
      await store.append({ branches: [branch(a.slice(2), a[1])] });
      const expected = [b[0], a[0], a[1], b[1], a[2]] as StoredEvent[];
      const found = (await fed(store, 5)).flatMap(({ events }) => events);
      const plain = (event: StoredEvent) => ({
        ...event,
        envelope: Buffer.from(event.envelope),
        data: event.data && Buffer.from(event.data),
      });
      expect(found.map(plain)).toEqual(expected.map((event) => expect.objectContaining(plain(event))));
    },
  },
  {
    name: "a log that comes in pieces in one write is fed in these pieces, between those of other logs",
    async run(store) {
      const a = storedChain([{}, {}, {}], "a");
      const b = storedChain([{}, {}], "b");
      const pieces = [a.slice(0, 1), b.slice(0, 1), a.slice(1, 2), b.slice(1), a.slice(2)];
      const newest = new Map<string, StoredEvent>();
      const branches = pieces.map((events) => {
        const [first] = events as [StoredEvent];
        const piece = branch(events, newest.get(first.session));
        newest.set(first.session, first);
        return piece;
      });
      expect(await store.append({ branches })).toEqual({ ok: true });
      expect(idsOf(await fed(store, 5))).toEqual(pieces.flat().map(({ id }) => id));
      expect(await collect(store.events({ session: "a" }))).toHaveLength(3);
    },
  },
  {
    name: "a feed goes on after each of its places, and its places sort as it does",
    async run(store) {
      let last: StoredEvent | undefined;
      const all: string[] = [];
      for (let i = 0; i < 30; i++) {
        const events = storedChain(
          Array.from({ length: 1 + (i % 3) }, () => ({ data: "x".repeat(i * 400) })),
          "s",
          last,
        );
        const other = [storedEvent({ session: `other ${i}` })];
        await store.append({ branches: [branch(events, last), branch(other)] });
        last = events.at(-1);
        all.push(...[...events, ...other].map(({ id }) => id));
      }
      const whole = await fed(store, all.length);
      expect(idsOf(whole)).toEqual(all);
      const places = whole.map(({ place }) => place);
      expect([...new Set(places)].sort()).toEqual(places);
      for (const [at, { place }] of whole.entries())
        expect(idsOf(await collect(store.feed({ after: place })))).toEqual(idsOf(whole.slice(at + 1)));
      for await (const _ of store.feed({})) break;
    },
  },
  {
    name: "nothing that comes later is before the place a feed is known to",
    async run(store) {
      const start = await store.fedTo();
      expect(await collect(store.feed({ after: start }))).toEqual([]);
      const [a, b] = storedChain([{}, {}], "s") as [StoredEvent, StoredEvent];
      await store.append({ branches: [branch([a])] });
      const [first] = await fed(store, 1, start);
      const middle = await store.fedTo();
      expect(first !== undefined && start < first.place && first.place <= middle).toBe(true);
      expect(await collect(store.feed({ after: middle }))).toEqual([]);
      await store.append({ branches: [branch([b], a)] });
      expect(idsOf(await fed(store, 1, middle))).toEqual([b.id]);
      expect(idsOf(await fed(store, 2, start))).toEqual([a.id, b.id]);
    },
  },
  {
    name: "a write that was refused is not fed",
    async run(store) {
      const [a, b] = storedChain([{}, {}], "s") as [StoredEvent, StoredEvent];
      await store.append({ branches: [branch([a])] });
      expect(await store.append({ branches: [branch([storedEvent({ session: "t" })]), branch([b])] })).toMatchObject({ ok: false });
      await store.append({ branches: [branch([b], a)] });
      expect(idsOf(await fed(store, 2))).toEqual([a.id, b.id]);
    },
  },
  {
    name: "writers at the same time are fed one after the other, parents first",
    async run(store) {
      const chains = Array.from({ length: 8 }, (_, i) => storedChain([{}, {}, {}, {}], `s${i}`));
      await Promise.all(
        chains.map(async (events) => {
          for (const [at, event] of events.entries()) await store.append({ branches: [branch([event], events[at - 1])] });
        }),
      );
      const found = (await fed(store, 32)).flatMap(({ events }) => events);
      expect(new Set(found.map(({ id }) => id)).size).toBe(32);
      for (const events of chains)
        expect(found.filter(({ session }) => session === events[0]?.session).map(({ id }) => id)).toEqual(events.map(({ id }) => id));
    },
  },
  {
    name: "a place that the feed never had is refused",
    async run(store) {
      await store.append({ branches: [branch([storedEvent({ session: "s" })])] });
      for (const after of ["", "yesterday", "9".repeat(16), `${await store.fedTo()}0`, "\u0000", "x".repeat(5000)])
        await expect(collect(store.feed({ after }))).rejects.toMatchObject({ code: "stream.gone" });
    },
  },
  {
    name: "erased events are fed without their data, and removed logs are not",
    async run(store) {
      const [a, b, c] = [storedChain([{}, {}], "a"), storedChain([{}, {}], "b"), storedChain([{}], "c")];
      for (const events of [a, b, c]) await store.append({ branches: [branch(events)] });
      const before = await fed(store, 5);
      if (store.erase) {
        await store.erase([a[1]?.id ?? ""], "e".repeat(64));
        const data = (await fed(store, 5)).flatMap(({ events }) => events.map((event) => event.data !== undefined));
        expect(data).toEqual([true, false, true, true, true]);
      }
      if (!store.remove) return;
      // The newest goes too: what comes next must not take its place.
      expect(await store.remove([b, c].map((events) => ({ session: events[0]?.session ?? "", head: events.at(-1)?.id ?? "" })))).toBe(true);
      expect(idsOf(await collect(store.feed({})))).toEqual(a.map(({ id }) => id));
      for (const scrubbed of [false, true]) {
        if (scrubbed) await store.scrub?.();
        const next = [storedEvent({ session: `next ${scrubbed}` })];
        await store.append({ branches: [branch(next)] });
        const found = await fed(store, scrubbed ? 2 : 1, before.at(-1)?.place);
        expect(idsOf(found)).toContain(next[0]?.id);
        expect(idsOf(await collect(store.feed({ after: before[0]?.place })))).toEqual(idsOf(found));
      }
    },
  },
  {
    name: "another store goes on where one had read to",
    reopens: true,
    async run(store, reopen) {
      const events = storedChain([{}, {}, {}], "s");
      for (const [at, event] of events.entries()) await store.append({ branches: [branch([event], events[at - 1])] });
      const found = await fed(store, 3);
      await using other = await reopen(store);
      expect(idsOf(await fed(other, 2, found[0]?.place))).toEqual(events.slice(1).map(({ id }) => id));
      const next = storedChain([{}], "s", events[2]);
      await store.append({ branches: [branch(next, events[2])] });
      expect(idsOf(await fed(other, 1, found[2]?.place))).toEqual([next[0]?.id]);
    },
  },
];
