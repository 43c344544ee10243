/** The feed on a real server: transactions that commit in another order than they began, older formats, and a restored dump. */
import pg from "pg";
import { expect, test } from "vitest";
import { ownSchemas, withClient } from "../../test/support/postgres.ts";
import { branch, collect } from "../testing/store-case.ts";
import { storedChain, storedEvent } from "../testing/stored-event.ts";
import { postgresStore } from "./postgres.ts";
import type { Fed, Store, StoredEvent } from "./store.ts";

let url = "";
const schema = ownSchemas((given) => {
  url = given;
});

const idsOf = (fed: readonly Fed[]): string[] => fed.flatMap(({ events }) => events.map(({ id }) => id));

/** What is fed after a place once it has an event; others may be writing on the same server. */
async function fedWith(store: Store, id: string | undefined, after?: string): Promise<Fed[]> {
  for (const until = Date.now() + 10_000; ; ) {
    const fed = await collect(store.feed({ after }));
    if (idsOf(fed).includes(id ?? "") || Date.now() > until) return fed;
  }
}

/**
 * What a reader gets that reads in every pause and goes on where it ended: the older of two transactions commits last.
 * `alter` changes what the reader asks the server.
 */
async function readWhileInterleaved(alter: (sql: string) => string): Promise<{ read: string[]; written: string[] }> {
  const name = schema();
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  await using reader = postgresStore({ query: (sql, values) => pool.query(alter(sql), values as unknown[]) }, { schema: name });
  await using fast = postgresStore(url, { schema: name, max: 2 });
  const read: string[] = [];
  let after: string | undefined;
  const look = async (): Promise<void> => {
    const [end, fed] = [await reader.fedTo(), await collect(reader.feed({ after }))];
    read.push(...idsOf(fed));
    // As a reader does that has read to the end.
    after = [end, fed.at(-1)?.place ?? ""].sort().at(-1);
  };
  const [slow, quick, later] = ["slow", "quick", "later"].map((session) => storedEvent({ session })) as [
    StoredEvent,
    StoredEvent,
    StoredEvent,
  ];
  await look();
  await withClient(url, async (client) => {
    await using held = postgresStore({ query: (sql, values) => client.query(sql, values as unknown[]) }, { schema: name });
    await client.query("BEGIN");
    await held.append({ branches: [branch([slow])] });
    await look();
    await fast.append({ branches: [branch([quick])] });
    await look();
    await client.query("COMMIT");
    await look();
  });
  await fast.append({ branches: [branch([later])] });
  for (const until = Date.now() + 10_000; !read.includes(later.id) && Date.now() < until; ) await look();
  await pool.end();
  return { read, written: [slow.id, quick.id, later.id] };
}

test("a reader never passes a place while an earlier one can still appear", async () => {
  const { read, written } = await readWhileInterleaved((sql) => sql);
  expect(read).toEqual(written);
});

test("mutant: read up to what is committed, the older transaction is lost", async () => {
  const { read, written } = await readWhileInterleaved((sql) => sql.replace("pg_snapshot_xmin", "pg_snapshot_xmax"));
  expect(read).toEqual(written.slice(1));
});

test("a transaction that was rolled back holds nobody back", async () => {
  await using store = postgresStore(url, { schema: schema(), max: 2 });
  const [event] = storedChain([{}], "s");
  await expect(store.append({ branches: [], run: { id: "\u0000" } as never })).rejects.toThrow();
  await store.append({ branches: [branch([event as StoredEvent])] });
  expect(idsOf(await fedWith(store, event?.id))).toEqual([event?.id]);
});

/** Makes of a database one of the first format. */
function asFirstFormat(name: string): Promise<unknown> {
  return withClient(url, (client) =>
    client.query(`ALTER TABLE "${name}".frames DROP COLUMN xid, DROP COLUMN no; DROP SEQUENCE "${name}".feed_numbers;
      UPDATE "${name}".formats SET version = 1 WHERE family = 'store'`),
  );
}

/** Makes of a database one that was restored from a dump: it has ids of transactions that this server will have in a long time. */
function asRestored(name: string): Promise<unknown> {
  const later = `UPDATE "${name}".frames SET xid = ((xid::text::bigint + 1000000000)::text)::xid8 WHERE xid <> '0'`;
  return withClient(url, (client) => client.query(later));
}

test("a database of the first format is fed by log and position, and goes on from there", async () => {
  const name = schema();
  const [a, b] = [storedChain([{}, {}, {}], "a"), storedChain([{}, {}], "b")];
  {
    await using store = postgresStore(url, { schema: name, max: 2 });
    await store.append({ branches: [branch(a.slice(0, 1))] });
    await store.append({ branches: [branch(b)] });
    await store.append({ branches: [branch(a.slice(1), a[0])] });
  }
  await asFirstFormat(name);
  await using store = postgresStore(url, { schema: name, max: 2 });
  const [c] = storedChain([{}], "b", b[1]);
  await store.append({ branches: [branch([c as StoredEvent], b[1])] });
  expect(idsOf(await fedWith(store, c?.id))).toEqual([...a, ...b, c].map((event) => event?.id));
});

test("a dump that was restored on another server is fed whole, and places of before are refused", async () => {
  const name = schema();
  const events = storedChain([{}, {}, {}], "s");
  await using store = postgresStore(url, { schema: name, max: 2 });
  for (const [at, event] of events.slice(0, 2).entries()) await store.append({ branches: [branch([event], events[at - 1])] });
  const [first] = await fedWith(store, events[1]?.id);
  await asRestored(name);
  await using restored = postgresStore(url, { schema: name, max: 2 });
  await restored.append({ branches: [branch(events.slice(2), events[1])] });
  const [one, again] = await Promise.all([fedWith(restored, events[2]?.id), fedWith(store, events[2]?.id)]);
  expect(idsOf(one)).toEqual(events.map(({ id }) => id));
  expect(again.map(({ place }) => place)).toEqual(one.map(({ place }) => place));
  expect(idsOf(await collect(restored.feed({ after: one[0]?.place })))).toEqual(events.slice(1).map(({ id }) => id));
  await expect(collect(restored.feed({ after: first?.place }))).rejects.toMatchObject({ code: "stream.gone" });
});

test("a dump of a database that once had the first format is fed in the same order, and again after another restore", async () => {
  const name = schema();
  const [old, young] = [storedChain([{}, {}, {}, {}], "old"), storedChain([{}, {}], "young")];
  {
    await using store = postgresStore(url, { schema: name, max: 2 });
    for (const [at, event] of old.entries()) await store.append({ branches: [branch([event], old[at - 1])] });
  }
  await asFirstFormat(name);
  await using store = postgresStore(url, { schema: name, max: 2 });
  // Whoever stores first after a restore is numbered as those before, in a transaction with a lower id.
  for (const [at, event] of young.entries()) {
    await store.append({ branches: [branch([event], young[at - 1])] });
    await asRestored(name);
    await store.append({ branches: [branch([storedEvent({ session: `local ${at}` })])] });
    const expected = [...old, ...young.slice(0, at + 1)].map(({ id }) => id);
    expect(idsOf(await fedWith(store, event.id)).filter((id) => expected.includes(id))).toEqual(expected);
  }
});

test("a restored database that lost a log can be restored once more, in whatever order the server writes its rows", async () => {
  const name = schema();
  await withClient(url, async (client) => {
    // By log and position, as it may where there are many: that is not the order of the feed.
    await client.query("SET enable_hashjoin = off; SET enable_nestloop = off");
    await using store = postgresStore({ query: (sql, values) => client.query(sql, values) }, { schema: name }) as Required<Store>;
    const [gone, a, b, last] = [storedChain([{}], "gone"), storedChain([{}, {}], "a"), storedChain([{}], "b"), storedChain([{}], "last")];
    const writes = [branch(gone), branch(a.slice(0, 1)), branch(b), branch(a.slice(1), a[0])];
    for (const write of writes) await store.append({ branches: [write] });
    await asRestored(name);
    await fedWith(store, a[1]?.id);
    expect(await store.remove([{ session: "gone", head: gone[0]?.id ?? "" }])).toBe(true);
    await store.append({ branches: [branch(last)] });
    await asRestored(name);
    expect(idsOf(await fedWith(store, last[0]?.id))).toEqual([a[0], b[0], a[1], last[0]].map((event) => event?.id));
  });
});

test("numbering anew may take longer than other statements", async () => {
  const name = schema();
  await using store = postgresStore(`${url}?statement_timeout=1000`, { schema: name, max: 2, patienceMs: 100 });
  const event = storedEvent({ session: "s" });
  await store.append({ branches: [branch([event])] });
  await asRestored(name);
  const [fed] = await withClient(url, async (client) => {
    await client.query(`BEGIN; LOCK TABLE "${name}".frames IN SHARE MODE`);
    return Promise.all([fedWith(store, event.id), client.query("SELECT pg_sleep(1.5); COMMIT")]);
  });
  expect(idsOf(fed)).toEqual([event.id]);
});
