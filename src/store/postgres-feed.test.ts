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

test("a database of the first format is fed by log and position, and goes on from there", async () => {
  const name = schema();
  const [a, b] = [storedChain([{}, {}, {}], "a"), storedChain([{}, {}], "b")];
  {
    await using store = postgresStore(url, { schema: name, max: 2 });
    await store.append({ branches: [branch(a.slice(0, 1))] });
    await store.append({ branches: [branch(b)] });
    await store.append({ branches: [branch(a.slice(1), a[0])] });
  }
  await withClient(url, (client) =>
    client.query(`ALTER TABLE "${name}".frames DROP COLUMN xid, DROP COLUMN no; DROP SEQUENCE "${name}".feed_numbers;
      UPDATE "${name}".formats SET version = 1 WHERE family = 'store'`),
  );
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
  // Ids of transactions that this server will have in a long time.
  await withClient(url, (client) => client.query(`UPDATE "${name}".frames SET xid = ((xid::text::bigint + 1000000000)::text)::xid8`));
  await using restored = postgresStore(url, { schema: name, max: 2 });
  await restored.append({ branches: [branch(events.slice(2), events[1])] });
  const [one, again] = await Promise.all([fedWith(restored, events[2]?.id), fedWith(store, events[2]?.id)]);
  expect(idsOf(one)).toEqual(events.map(({ id }) => id));
  expect(again.map(({ place }) => place)).toEqual(one.map(({ place }) => place));
  expect(idsOf(await collect(restored.feed({ after: one[0]?.place })))).toEqual(events.slice(1).map(({ id }) => id));
  await expect(collect(restored.feed({ after: first?.place }))).rejects.toMatchObject({ code: "stream.gone" });
});
