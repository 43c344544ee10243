/** What happens to the server and to connections: cuts in the middle of an append, restarts, many processes at once, other formats. */

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { bundled } from "../../test/support/bundled.ts";
import { ownPostgres, ownSchemas, withClient } from "../../test/support/postgres.ts";
import { RathError } from "../session/errors.ts";
import { collect } from "../testing/store-case.ts";
import { storedChain } from "../testing/stored-event.ts";
import { postgresStore } from "./postgres.ts";
import type { News, RunRow, Store, Write } from "./store.ts";

const run: RunRow = { id: "r", key: undefined, session: "s", workflow: "w", status: "running", wakeAt: undefined };
let url = "";
const schema = ownSchemas((shared) => {
  url = shared;
});

const writeOf = (session: string): Write => ({ branches: [{ session, expectedHead: undefined, events: storedChain([{}, {}], session) }] });
const ids = async (store: Store) => (await collect(store.sessions({}))).map(({ id }) => id);

test("a connection that is cut in the middle of an append leaves the outcome open and nothing half", async () => {
  const name = schema();
  await using store = postgresStore(url, { schema: name });
  await store.append(writeOf("before"));
  await withClient(url, async (client) => {
    // The function has stored its events by the time it waits for the table of runs.
    await client.query(`BEGIN; LOCK TABLE "${name}".runs IN ACCESS EXCLUSIVE MODE`);
    const cut = store.append({ ...writeOf("s"), run });
    const others = store.append(writeOf("beside"));
    const failed = Promise.allSettled([cut, others]);
    const waiting = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%"${name}"%'`;
    while ((await client.query(waiting)).rows.length === 0);
    await client.query("COMMIT");
    for (const result of await failed)
      expect(result).toMatchObject({
        status: "rejected",
        reason: { code: "store.unavailable", retryable: true, message: /outcome is unknown/ },
      });
  });
  expect(await ids(store)).toEqual(["before"]);
  expect(await collect(store.runs({}))).toEqual([]);
  expect(await store.append({ ...writeOf("s"), run })).toEqual({ ok: true });
});

test("a store goes on after its server was restarted and after it crashed, and whoever watches hears again", async () => {
  await using server = await ownPostgres();
  await using store = postgresStore(server.url);
  const heard: News[] = [];
  let told = () => {};
  const next = () => new Promise<void>((resolve) => (told = resolve));
  await using _watching = await (store as Required<Store>).watch((news) => {
    heard.push(news);
    told();
  });
  expect(await store.append(writeOf("a"))).toEqual({ ok: true });
  for (const [name, end] of [
    ["b", server.stop],
    ["c", server.kill],
  ] as const) {
    await end();
    const again = next();
    // One that is cut off on its way does not know its outcome, and says so, perhaps before the server is back.
    const during = store.append(writeOf(name)).catch((error: unknown) => {
      if (!RathError.is(error, "store.unavailable")) throw error;
      return undefined;
    });
    await server.start();
    const written = await during;
    if (written === undefined) await store.append(writeOf(name));
    else expect(written).toEqual({ ok: true });
    // Something may have been missed while nobody listened.
    await again;
  }
  expect(heard.some(({ due }) => due)).toBe(true);
  expect(await ids(store)).toEqual(["a", "b", "c"]);
});

test("processes that open an empty database at once make its tables once, and none of their writes is lost", async () => {
  const name = schema();
  const child = await bundled(new URL("../../test/support/postgres-opener.ts", import.meta.url));
  const opened = Array.from({ length: 4 }, (_, i) => promisify(execFile)(process.execPath, [child, url, name, `log ${i}`]));
  for (const { stdout } of await Promise.all(opened)) expect(stdout.trim()).toBe('{"ok":true}');
  await using store = postgresStore(url, { schema: name, migrate: false });
  expect((await ids(store)).sort()).toEqual(["log 0", "log 1", "log 2", "log 3"]);
});

test("a database of a newer format is refused, and nothing is changed", async () => {
  const name = schema();
  await using store = postgresStore(url, { schema: name });
  await store.append(writeOf("s"));
  await withClient(url, (client) => client.query(`UPDATE "${name}".formats SET version = 99`));
  await using old = postgresStore(url, { schema: name });
  await expect(old.append(writeOf("t"))).rejects.toMatchObject({ code: "store.newer-format", details: { version: 99 } });
  expect(await ids(store)).toEqual(["s"]);
});

test("tenants and projects see nothing of each other", async () => {
  const name = schema();
  await using ours = postgresStore(url, { schema: name, tenant: "a", project: "p" });
  const events = storedChain([{ run: "r", order: 1 }], "s");
  const blob = { hash: "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881", bytes: Buffer.from("x") };
  await ours.append({
    branches: [{ session: "s", expectedHead: undefined, events }],
    run: { ...run, key: "k", wakeAt: "2020-01-01T00:00:00.000Z" },
    blobs: [blob],
  });
  for (const other of [
    { tenant: "b", project: "p" },
    { tenant: "a", project: "q" },
  ]) {
    await using theirs = postgresStore(url, { schema: name, ...other });
    expect(await ids(theirs)).toEqual([]);
    for (const query of [{ session: "s" }, { run: "r" }, { ids: events.map(({ id }) => id) }])
      expect(await collect(theirs.events(query))).toEqual([]);
    expect(await collect(theirs.sessions({ run: "r" }))).toEqual([]);
    expect(await collect(theirs.runs({}))).toEqual([]);
    expect(await theirs.take({ workflows: ["w"], limit: 9 }, "thief", 1000)).toEqual([]);
    expect(await theirs.claim("r", "thief", 1000)).toBeUndefined();
    await theirs.erase?.(
      events.map(({ id }) => id),
      "e".repeat(64),
    );
    await theirs.append({ branches: [], wake: ["r"] });
    // Blobs belong to a tenant.
    expect((await theirs.blob(blob.hash)) !== undefined).toBe(other.tenant === "a");
    // The same names are theirs to use.
    expect(await theirs.append({ ...writeOf("s"), run: { ...run, key: "k" } })).toEqual({ ok: true });
  }
  expect(await collect(ours.runs({}))).toMatchObject([{ id: "r", owner: undefined }]);
  expect((await collect(ours.runs({})))[0]?.woken).toBeUndefined();
  expect((await collect(ours.events({ session: "s" })))[0]?.data?.length).toBeGreaterThan(0);
});

test("ten megabytes of blobs and five thousand events go into one write", async () => {
  await using store = postgresStore(url, { schema: schema() });
  const bytes = Buffer.alloc(10_000_000, "0123456789abcdef");
  const { hash } = await import("node:crypto");
  const blob = { hash: hash("sha256", bytes), bytes };
  const events = storedChain(
    Array.from({ length: 5000 }, (_, order) => ({ run: "r", order })),
    "s",
  );
  expect(await store.append({ branches: [{ session: "s", expectedHead: undefined, events }], blobs: [blob] })).toEqual({ ok: true });
  expect((await collect(store.events({ session: "s" }))).map(({ id }) => id)).toEqual(events.map(({ id }) => id));
  expect((await store.blob(blob.hash))?.length).toBe(bytes.length);
  // The second time it is known, and only touched; removed in between, it is sent after all.
  await store.append({ branches: [], blobs: [blob] });
  expect(await store.append({ branches: [], blobs: [blob] })).toEqual({ ok: true });
});

test("the store says how far the clock of the server is ahead", async () => {
  const clock = { skewMs: Number.NaN };
  await using store = postgresStore(url, { schema: schema(), clock });
  await store.append({ branches: [], run });
  const real = Date.now;
  Date.now = () => real() - 3_600_000;
  try {
    await store.claim("r", "w", 1000);
  } finally {
    Date.now = real;
  }
  expect(Math.abs(clock.skewMs - 3_600_000)).toBeLessThan(2000);
});
