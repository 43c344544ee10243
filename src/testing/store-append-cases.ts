/** The store contract: appending, heads, bytes, blobs, erasing, closing. */
import { hash, randomBytes } from "node:crypto";
import { RathError } from "../session/errors.ts";
import type { EventQuery, Store, StoredEvent, Written } from "../store/store.ts";
import { branch, collect, plain, type StoreCase } from "./store-case.ts";
import { eventFault, storedChain, storedEvent } from "./stored-event.ts";
import { expect } from "./vitest.ts";

async function read(store: Store, query: EventQuery): Promise<StoredEvent[]> {
  return plain(await collect(store.events(query)));
}

const ok: Written = { ok: true };
const three = (session: string) => storedChain([{}, {}, {}], session);

export const appendCases: readonly StoreCase[] = [
  {
    name: "events come back in order, byte for byte",
    async run(store) {
      const events = storedChain([{ facts: { ms: 3 } }, { kind: "tool.called", run: "r", order: 7 }, { by: "a/b", data: "{}" }], "s");
      expect(await store.append({ branches: [branch(events.slice(0, 1))] })).toEqual(ok);
      expect(await store.append({ branches: [branch(events.slice(1), events[0])] })).toEqual(ok);
      expect(await read(store, { session: "s" })).toEqual(plain(events));
    },
  },
  {
    name: "a log that does not exist has no events",
    async run(store) {
      expect(await read(store, { session: "nobody" })).toEqual([]);
    },
  },
  {
    name: "stored bytes are not the caller's",
    async run(store) {
      const [event] = storedChain([{ data: "kept" }], "s") as [StoredEvent];
      const expected = plain([event]);
      const bytes = Uint8Array.from(Buffer.from("blob"));
      const appended = store.append({ branches: [branch([event])], blobs: [{ hash: hash("sha256", bytes), bytes }] });
      event.envelope.fill(0);
      event.data?.fill(0);
      bytes.fill(0);
      await appended;
      expect(await read(store, { session: "s" })).toEqual(expected);
      for (const query of [{ session: "s" }, { ids: [event.id] }])
        for (const got of await collect(store.events(query))) got.envelope.fill(0);
      expect(await read(store, { ids: [event.id, event.id] })).toEqual([...expected, ...expected]);
      const blob = await store.blob(hash("sha256", "blob"));
      expect(Buffer.from(blob ?? []).toString()).toBe("blob");
      blob?.fill(0);
      expect(Buffer.from((await store.blob(hash("sha256", "blob"))) ?? []).toString()).toBe("blob");
    },
  },
  {
    name: "append rejects a stale head and writes nothing",
    async run(store) {
      const [a, b] = three("s") as [StoredEvent, StoredEvent];
      const other = storedEvent({ session: "s", step: 1, parents: [a.id] });
      await store.append({ branches: [branch([a])] });
      await store.append({ branches: [branch([b], a)] });
      const run = { id: "r", key: undefined, session: "s", workflow: "w", status: "running", wakeAt: undefined };
      const blob = { hash: hash("sha256", "x"), bytes: Buffer.from("x") };
      expect(await store.append({ branches: [branch([other], a)], run, blobs: [blob] })).toEqual({
        ok: false,
        reason: "head",
        session: "s",
        head: b.id,
      });
      expect(await store.append({ branches: [branch([storedEvent({ session: "s" })])] })).toEqual({
        ok: false,
        reason: "head",
        session: "s",
        head: b.id,
      });
      expect((await read(store, { session: "s" })).map(({ id }) => id)).toEqual([a.id, b.id]);
      expect(await read(store, { ids: [other.id] })).toEqual([]);
      expect(await collect(store.runs({}))).toEqual([]);
      expect(await store.blob(blob.hash)).toBeUndefined();
    },
  },
  {
    name: "append to a log that does not exist names no head",
    async run(store) {
      const [a, b] = three("s") as [StoredEvent, StoredEvent];
      expect(await store.append({ branches: [branch([b], a)] })).toEqual({ ok: false, reason: "head", session: "s", head: undefined });
      expect(await collect(store.sessions({}))).toEqual([]);
    },
  },
  {
    name: "a write of several branches is all or nothing",
    async run(store) {
      const [a, b, c] = ["a", "b", "c"].map((name) => storedChain([{}, {}], name)) as [StoredEvent[], StoredEvent[], StoredEvent[]];
      await store.append({ branches: [branch(b.slice(0, 1))] });
      expect(await store.append({ branches: [branch(a), branch(b), branch(c)] })).toMatchObject({
        ok: false,
        reason: "head",
        session: "b",
      });
      expect((await collect(store.sessions({}))).map(({ id }) => id)).toEqual(["b"]);
      expect(await store.append({ branches: [branch(a), branch(b.slice(1), b[0]), branch(c)] })).toEqual(ok);
      expect((await collect(store.sessions({}))).map(({ id, head }) => [id, head])).toEqual(
        [b, a, c].map((events) => [events[0]?.session, events[1]?.id]),
      );
    },
  },
  {
    name: "a branch without events only checks its head",
    async run(store) {
      const [a, b] = three("s") as [StoredEvent, StoredEvent];
      await store.append({ branches: [branch([a])] });
      const other = three("t");
      expect(await store.append({ branches: [{ session: "s", expectedHead: b.id, events: [] }, branch(other)] })).toMatchObject({
        ok: false,
        head: a.id,
      });
      expect(await store.append({ branches: [{ session: "s", expectedHead: a.id, events: [] }, branch(other)] })).toEqual(ok);
    },
  },
  {
    name: "exactly one of two racing appends wins",
    async run(store) {
      const [root] = three("s") as [StoredEvent];
      await store.append({ branches: [branch([root])] });
      const rivals = Array.from({ length: 8 }, (_, i) => storedEvent({ session: "s", step: 1, parents: [root.id], data: `${i}` }));
      const written = await Promise.all(rivals.map((event) => store.append({ branches: [branch([event], root)] })));
      const won = rivals.filter((_, i) => written[i]?.ok);
      expect(won).toHaveLength(1);
      expect((await read(store, { session: "s" })).map(({ id }) => id)).toEqual([root.id, won[0]?.id]);
      for (const result of written) if (!result.ok) expect(result).toMatchObject({ reason: "head", head: won[0]?.id });
    },
  },
  {
    name: "appends issued together keep their order",
    async run(store) {
      const events = storedChain(
        Array.from({ length: 50 }, () => ({})),
        "s",
      );
      const written = await Promise.all(events.map((event, i) => store.append({ branches: [branch([event], events[i - 1])] })));
      expect(written.every(({ ok }) => ok)).toBe(true);
      expect(await read(store, { session: "s" })).toEqual(plain(events));
    },
  },
  {
    name: "any interleaving of two writers is linear",
    async run(store) {
      let session = 0;
      const { default: fc } = await import("fast-check");
      const step = fc.record({ writer: fc.nat(1), refresh: fc.boolean(), wait: fc.boolean() });
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => linear(store, `linear-${session++}`, steps)),
        { numRuns: 40 },
      );
    },
  },
  {
    name: "large, odd and empty payloads survive",
    async run(store) {
      const drafts = [
        { data: randomBytes(5_000_000) },
        { data: "" },
        { data: '{"t":"grüße 🚀 \\u0000 \u2028"}', by: "zoë/名前" },
        { data: randomBytes(70_000) },
        { facts: { text: '"}],"kind":"x' } },
      ];
      const events = storedChain(drafts, "söss");
      const none = {
        ...(storedEvent({ session: "söss", step: 5, parents: [(events[4] as StoredEvent).id] }) as StoredEvent),
        data: undefined,
      };
      expect(await store.append({ branches: [branch([...events, none])] })).toEqual(ok);
      const got = await read(store, { session: "söss" });
      expect(got.map(({ id }) => id)).toEqual([...events, none].map(({ id }) => id));
      expect(got.map(eventFault).filter(Boolean)).toEqual([]);
      expect(got.map(({ data }) => data?.length)).toEqual([...events, none].map(({ data }) => data?.length));
    },
  },
  {
    name: "blobs are kept by hash and may be put again",
    async run(store) {
      const blobs = ["", "text ".repeat(10_000), randomBytes(200_000)].map((content) => ({
        hash: hash("sha256", content),
        bytes: Buffer.from(content),
      }));
      await store.append({ branches: [], blobs });
      await store.append({ branches: [], blobs });
      for (const { hash, bytes } of blobs) expect(Buffer.from((await store.blob(hash)) ?? "missing").equals(bytes)).toBe(true);
      expect(await store.blob(hash("sha256", "never put"))).toBeUndefined();
    },
  },
  {
    name: "reopen after crash",
    reopens: true,
    async run(store, reopen) {
      const events = three("s");
      await store.append({
        branches: [branch(events)],
        run: { id: "r", key: "k", session: "s", workflow: "w", status: "running", wakeAt: undefined },
      });
      await store.claim("r", "worker", 60_000);
      await using again = await reopen(store);
      expect(await read(again, { session: "s" })).toEqual(plain(events));
      expect(await collect(again.runs({}))).toMatchObject([{ id: "r", key: "k", owner: "worker" }]);
      expect(await again.append({ branches: [branch(storedChain([{}], "s", events[2]), events[2])] })).toEqual(ok);
      expect(await collect(store.events({ session: "s" }))).toHaveLength(4);
    },
  },
  {
    name: "a closed store refuses every call",
    async run(store) {
      const [event] = three("s") as [StoredEvent];
      const late = store.append({ branches: [branch([event])] });
      await store[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
      expect(await late).toEqual(ok);
      const lease = { run: "r", epoch: 1, expires: new Date().toISOString() };
      const calls: (() => Promise<unknown>)[] = [
        () => store.append({ branches: [] }),
        () => collect(store.events({ session: "s" })),
        () => collect(store.events({ ids: [event.id] })),
        () => collect(store.events({ run: "r" })),
        () => collect(store.sessions({})),
        () => collect(store.runs({})),
        () => store.claim("r", "w", 1),
        () => store.renew(lease, 1),
        () => store.release(lease),
        () => store.blob(event.id),
        () => store.erase?.([event.id], event.id) ?? Promise.reject(new RathError("store.closed", "")),
      ];
      for (const call of calls) await expect(call()).rejects.toMatchObject({ code: "store.closed" });
    },
  },
];

/** Two writers with heads of their own: what was accepted is one chain, and nothing else is there. */
async function linear(
  store: Store,
  session: string,
  steps: readonly { readonly writer: number; readonly refresh: boolean; readonly wait: boolean }[],
): Promise<void> {
  const heads: (StoredEvent | undefined)[] = [undefined, undefined];
  const accepted: string[] = [];
  const pending: Promise<void>[] = [];
  for (const { writer, refresh, wait } of steps) {
    if (refresh) {
      heads[writer] = (await collect(store.events({ session }))).at(-1);
      continue;
    }
    const before = heads[writer];
    const event = storedEvent({ session, step: (before?.step ?? -1) + 1, parents: before ? [before.id] : [], data: `${pending.length}` });
    const settled = store.append({ branches: [branch([event], before)] }).then((written) => {
      if (!written.ok) return;
      accepted.push(event.id);
      heads[writer] = event;
    });
    pending.push(settled);
    if (wait) await settled;
  }
  await Promise.all(pending);
  const log = await collect(store.events({ session }));
  expect(log.map(({ id }) => id)).toEqual(accepted);
  log.forEach((event, i) => {
    const { parents } = JSON.parse(Buffer.from(event.envelope).toString()) as { parents: string[] };
    expect(parents).toEqual(i === 0 ? [] : [log[i - 1]?.id]);
  });
}
