/** The store contract: finding events, logs and runs. */

import type { EventQuery, LogAbout, LogQuery, RunQuery, RunRow, Store, StoredEvent } from "../store/store.ts";
import { branch, collect, type StoreCase } from "./store-case.ts";
import { storedChain, storedEvent } from "./stored-event.ts";
import { expect } from "./vitest.ts";

const ids = async (store: Store, query: EventQuery) => (await collect(store.events(query))).map(({ id }) => id);
const logs = async (store: Store, query: LogQuery) => (await collect(store.sessions(query))).map(({ id }) => id);
const runs = async (store: Store, query: RunQuery) => (await collect(store.runs(query))).map(({ id }) => id);

async function put(store: Store, events: readonly StoredEvent[], after?: StoredEvent, about?: LogAbout): Promise<void> {
  expect(await store.append({ branches: [{ ...branch(events, after), about }] })).toEqual({ ok: true });
}

export const queryCases: readonly StoreCase[] = [
  {
    name: "events of a session by range of steps",
    async run(store) {
      // Steps jump where another branch was merged in.
      const steps = [10, 11, 12, 20, 21, 22, 23, 40];
      const events: StoredEvent[] = [];
      for (const step of steps)
        events.push(storedEvent({ session: "s", step, parents: events.length > 0 ? [(events.at(-1) as StoredEvent).id] : [] }));
      await put(store, events.slice(0, 2));
      await put(store, events.slice(2, 3), events[1]);
      await put(store, events.slice(3), events[2]);
      for (const from of [undefined, 0, 9, 10, 12, 13, 20, 23, 24, 40, 41]) {
        for (const to of [undefined, 5, 10, 12, 19, 22, 39, 40, 99]) {
          const expected = events.filter(({ step }) => step >= (from ?? 0) && step <= (to ?? 1000)).map(({ id }) => id);
          expect(await ids(store, { session: "s", from, to })).toEqual(expected);
        }
      }
    },
  },
  {
    name: "a long session is read whole, and from its middle",
    async run(store) {
      let last: StoredEvent | undefined;
      const all: string[] = [];
      for (let i = 0; i < 40; i++) {
        const events = storedChain(
          Array.from({ length: 25 }, () => ({ data: "x".repeat(500) })),
          "s",
          last,
        );
        await put(store, events, last);
        last = events.at(-1);
        all.push(...events.map(({ id }) => id));
      }
      expect(await ids(store, { session: "s" })).toEqual(all);
      expect(await ids(store, { session: "s", from: 777, to: 779 })).toEqual(all.slice(777, 780));
      for await (const event of store.events({ session: "s" })) if (event.step === 3) break;
    },
  },
  {
    name: "events of a run by order across logs",
    async run(store) {
      const a = storedChain(
        [
          { run: "r", order: 1 },
          { run: "r", order: 4 },
          { run: "other", order: 2 },
          { run: "r", order: 6 },
        ],
        "a",
      );
      const b = storedChain(
        [
          { run: "r", order: 2 },
          { run: "r", order: 3 },
          { run: "r", order: 5 },
        ],
        "b",
      );
      await store.append({ branches: [branch(a.slice(0, 1)), branch(b.slice(0, 1))] });
      await store.append({ branches: [branch(a.slice(1), a[0]), branch(b.slice(1), b[0])] });
      const expected = [a[0], b[0], b[1], a[1], b[2], a[3]].map((event) => event?.id);
      expect(await ids(store, { run: "r" })).toEqual(expected);
      for (const after of [0, 1, 3, 5, 6]) expect(await ids(store, { run: "r", after })).toEqual(expected.slice(after));
      expect(await ids(store, { run: "other", after: 1 })).toEqual([a[2]?.id]);
      expect(await ids(store, { run: "nobody" })).toEqual([]);
    },
  },
  {
    name: "events of a run come by order even where a log has them otherwise",
    async run(store) {
      const events = storedChain(
        [3, 1, 5, 2, 4].map((order) => ({ run: "r", order })),
        "s",
      );
      await put(store, events.slice(0, 2));
      await put(store, events.slice(2, 3), events[1]);
      await put(store, events.slice(3), events[2]);
      expect((await collect(store.events({ run: "r" }))).map(({ order }) => order)).toEqual([1, 2, 3, 4, 5]);
      expect((await collect(store.events({ run: "r", after: 2 }))).map(({ order }) => order)).toEqual([3, 4, 5]);
    },
  },
  {
    name: "a long run over many logs is read whole and from any place",
    async run(store) {
      const heads = new Map<string, StoredEvent>();
      for (let order = 1; order <= 600; order += 2) {
        const session = `log ${(order * 7) % 11}`;
        const before = heads.get(session);
        const events = storedChain(
          [
            { run: "r", order },
            { run: "r", order: order + 1 },
          ],
          session,
          before,
        );
        await put(store, events, before);
        heads.set(session, events[1] as StoredEvent);
      }
      for (const after of [0, 1, 299, 300, 599, 600]) {
        const orders = (await collect(store.events({ run: "r", after }))).map(({ order }) => order);
        expect(orders).toEqual(Array.from({ length: 600 - after }, (_, i) => after + i + 1));
      }
    },
  },
  {
    name: "events by id come in the order asked",
    async run(store) {
      const [a, b, c] = storedChain([{}, {}, {}], "s") as [StoredEvent, StoredEvent, StoredEvent];
      await put(store, [a, b]);
      expect(await ids(store, { ids: [b.id, a.id] })).toEqual([b.id, a.id]);
      await put(store, [c], b);
      expect(await ids(store, { ids: [c.id, "f".repeat(64), a.id, c.id, b.id] })).toEqual([c.id, a.id, c.id, b.id]);
      expect(await ids(store, { ids: [] })).toEqual([]);
    },
  },
  {
    name: "sessions are found by id, parents, run, tag and sort, and left out by id",
    async run(store) {
      const about = { log: "session", title: "Fix it", tags: ["x", 'y"z'], principal: "p1" } as const;
      await put(store, storedChain([{ run: "r1" }], "abc-1"), undefined, about);
      await put(store, storedChain([{}], "abc-2"), undefined, { log: "session", parent: "abc-1", tags: ["x"] });
      await put(store, storedChain([{ run: "r1" }, { run: "r2" }], "run-r1"), undefined, { log: "run" });
      await put(store, storedChain([{}], "answer"), undefined, { log: "answer", parent: "abc-1" });
      await put(store, storedChain([{}], "bare"));
      expect(await logs(store, {})).toEqual(["abc-1", "abc-2", "run-r1", "answer", "bare"]);
      expect(await logs(store, { id: "abc" })).toEqual(["abc-1", "abc-2"]);
      expect(await logs(store, { id: "abc-2" })).toEqual(["abc-2"]);
      expect(await logs(store, { id: "%" })).toEqual([]);
      expect(await logs(store, { parent: "abc-1" })).toEqual(["abc-2", "answer"]);
      expect(await logs(store, { parent: "abc-1", log: "answer" })).toEqual(["answer"]);
      expect(await logs(store, { parent: ["bare", "abc-1", "abc-1", "nobody"] })).toEqual(["abc-2", "answer"]);
      expect(await logs(store, { parent: ["bare"] })).toEqual([]);
      expect(await logs(store, { parent: [] })).toEqual([]);
      expect(await logs(store, { parent: ["abc-1"], except: ["abc-2"] })).toEqual(["answer"]);
      await put(store, storedChain([{}], "abc-3"), undefined, { log: "session", parent: "abc-1" });
      expect([...(await store.branches(["bare", "abc-1", "abc-1", "nobody"]))]).toEqual([["abc-1", 2]]);
      expect((await store.branches([])).size).toBe(0);
      expect(await logs(store, { except: ["abc-1", "nobody", "bare", "abc-3"] })).toEqual(["abc-2", "run-r1", "answer"]);
      expect(await logs(store, { except: [] })).toHaveLength(6);
      expect(await logs(store, { run: "r1" })).toEqual(["abc-1", "run-r1"]);
      expect(await logs(store, { run: "r2" })).toEqual(["run-r1"]);
      expect(await logs(store, { tag: "x" })).toEqual(["abc-1", "abc-2"]);
      expect(await logs(store, { tag: 'y"z' })).toEqual(["abc-1"]);
      expect(await logs(store, { log: "session" })).toEqual(["abc-1", "abc-2", "bare", "abc-3"]);
      expect(await logs(store, { after: "run-r1" })).toEqual(["answer", "bare", "abc-3"]);
      expect(await logs(store, { after: "nobody" })).toEqual([]);
      expect((await collect(store.sessions({ id: "abc-1" })))[0]).toMatchObject({ ...about, id: "abc-1", run: "r1" });
      const [bare] = await collect(store.sessions({ id: "bare" }));
      expect([bare?.log, bare?.run, bare?.parent, bare?.title, bare?.principal]).toEqual([
        "session",
        undefined,
        undefined,
        undefined,
        undefined,
      ]);
    },
  },
  {
    name: "what is said of a log is said once",
    async run(store) {
      const [a, b] = storedChain([{}, {}], "s") as [StoredEvent, StoredEvent];
      await put(store, [a], undefined, { log: "session", title: "first" });
      await put(store, [b], a, { log: "run", title: "second" });
      expect(await collect(store.sessions({}))).toMatchObject([{ title: "first", log: "session", head: b.id }]);
    },
  },
  {
    name: "a log says when it was created, and goes on saying it",
    async run(store) {
      if (!store.remove) return;
      const [a, b] = storedChain([{}, {}], "s") as [StoredEvent, StoredEvent];
      await put(store, [a]);
      const [first] = await collect(store.sessions({}));
      expect(new Date(first?.created ?? "").toISOString()).toBe(first?.created);
      for (const start = Date.now(); Date.now() < start + 2; ) await new Promise((resolve) => setImmediate(resolve));
      await put(store, [b], a);
      await put(store, storedChain([{}], "later"));
      const [same, later] = (await collect(store.sessions({}))).map(({ created = "" }) => created);
      expect(same).toBe(first?.created);
      expect((later ?? "") >= (same ?? "~")).toBe(true);
    },
  },
  {
    name: "many sessions are listed in order of creation",
    async run(store) {
      const names = Array.from({ length: 200 }, (_, i) => `s${(i * 37) % 200}`);
      await Promise.all(names.map((session) => put(store, [storedEvent({ session })])));
      expect(await logs(store, {})).toEqual(names);
      expect(await logs(store, { after: names[120] })).toEqual(names.slice(121));
      expect(await logs(store, { except: names.slice(3, 150) })).toEqual([...names.slice(0, 3), ...names.slice(150)]);
    },
  },
  {
    name: "the newest sessions are listed first when asked for, and go on after any of them",
    async run(store) {
      const names = Array.from({ length: 150 }, (_, i) => `s${(i * 37) % 150}`);
      const about = (index: number): LogAbout => ({ log: "session", tags: index % 2 === 0 ? ["even"] : [] });
      await Promise.all(names.map((session, index) => put(store, [storedEvent({ session })], undefined, about(index))));
      const newest = names.toReversed();
      expect(await logs(store, { newestFirst: true })).toEqual(newest);
      expect(await logs(store, { newestFirst: true, after: newest[70] })).toEqual(newest.slice(71));
      expect(await logs(store, { newestFirst: true, after: newest.at(-1) })).toEqual([]);
      expect(await logs(store, { newestFirst: true, after: "unknown" })).toEqual([]);
      expect(await logs(store, { newestFirst: true, tag: "even" })).toEqual(newest.filter((_, index) => index % 2 === 1));
    },
  },
  {
    name: "runs are found by id, status, key and time",
    async run(store) {
      const row = (id: string, rest: Partial<RunRow> = {}): RunRow => ({
        id,
        key: undefined,
        session: "s",
        workflow: "w",
        status: "running",
        wakeAt: undefined,
        ...rest,
      });
      const rows = [
        row("a", { key: "k" }),
        row("b", { status: "parked", wakeAt: "2026-01-01T00:00:00.000Z" }),
        row("c", { status: "parked", wakeAt: "2027-01-01T00:00:00.000Z" }),
      ];
      for (const run of rows) await store.append({ branches: [], run });
      expect(await runs(store, {})).toEqual(["a", "b", "c"]);
      expect(await runs(store, { id: "b" })).toEqual(["b"]);
      expect(await runs(store, { status: "parked" })).toEqual(["b", "c"]);
      expect(await runs(store, { key: "k" })).toEqual(["a"]);
      expect(await runs(store, { session: "s", status: "running" })).toEqual(["a"]);
      expect(await runs(store, { session: ["other", "s", "s"], newestFirst: true })).toEqual(["c", "b", "a"]);
      expect(await runs(store, { session: ["other"] })).toEqual([]);
      expect(await runs(store, { session: [] })).toEqual([]);
      expect(await runs(store, { dueBefore: "2026-06-01T00:00:00.000Z" })).toEqual(["b"]);
      expect((await collect(store.runs({ id: "c" })))[0]).toMatchObject(rows[2] as RunRow);
      await store.append({ branches: [], run: row("b", { status: "finished", workflow: "other" }) });
      expect(await runs(store, { status: "parked" })).toEqual(["c"]);
      expect((await collect(store.runs({ id: "b" })))[0]).toMatchObject({ workflow: "other", wakeAt: undefined });
    },
  },
  {
    name: "runs are read on from any of them, from the oldest and from the newest, each condition still holding",
    async run(store) {
      // More than a store reads at once.
      const ids = Array.from({ length: 80 }, (_, index) => `r${index}`);
      const even = (id: string): boolean => Number(id.slice(1)) % 2 === 0;
      for (const id of ids) {
        const row = { id, key: undefined, session: even(id) ? "s" : "t", workflow: even(id) ? "v" : "w", wakeAt: undefined };
        await store.append({ branches: [], run: { ...row, status: id === "r5" ? "finished" : even(id) ? "parked" : "running" } });
      }
      expect(await runs(store, { after: "r9" })).toEqual(ids.slice(10));
      expect(await runs(store, { after: "r79" })).toEqual([]);
      expect(await runs(store, { newestFirst: true })).toEqual([...ids].reverse());
      expect(await runs(store, { newestFirst: true, after: "r70" })).toEqual(ids.slice(0, 70).reverse());
      expect(await runs(store, { after: "no such run" })).toEqual([]);
      expect(await runs(store, { newestFirst: true, after: "no such run" })).toEqual([]);
      expect(await runs(store, { status: ["running", "finished"] })).toEqual(ids.filter((id) => !even(id)));
      expect(await runs(store, { status: [] })).toEqual([]);
      expect(await runs(store, { workflow: "v", after: "r9" })).toEqual(ids.slice(10).filter(even));
      expect(await runs(store, { session: "t", status: "finished" })).toEqual(["r5"]);
    },
  },
  {
    name: "a key belongs to one run",
    async run(store) {
      const row: RunRow = { id: "a", key: "k", session: "s", workflow: "w", status: "running", wakeAt: undefined };
      await store.append({ branches: [], run: row });
      await store.append({ branches: [], run: { ...row, status: "finished" } });
      const events = storedChain([{}], "s");
      await expect(store.append({ branches: [branch(events)], run: { ...row, id: "b" } })).rejects.toMatchObject({
        code: "store.conflict",
      });
      expect(await logs(store, {})).toEqual([]);
      expect(await runs(store, { key: "k" })).toEqual(["a"]);
    },
  },
];
