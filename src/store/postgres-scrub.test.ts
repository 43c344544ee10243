/** What becomes of the bytes of removed rows: who may have them cleared, and what the files of a real server hold afterwards. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freshDatabase, withClient } from "../../test/support/postgres.ts";
import type { Rath } from "../index.ts";
import { postgresMemory } from "../memory/postgres.ts";
import { openrath } from "../openrath.ts";
import { postgresStore } from "./postgres.ts";
import type { Store } from "./store.ts";

const who = { by: "human:ada", reason: "asked to" };
const marker = "Zaphod-Beeblebrox-4711";
const role = `scrub_${process.pid}`;
let database: Awaited<ReturnType<typeof freshDatabase>>;
let lesser = "";

beforeAll(async () => {
  database = await freshDatabase();
  lesser = Object.assign(new URL(database.url), { username: role, password: "word-of-the-role" }).href;
  await using owner = onto(database.url);
  await (await owner.session("makes the tables").remember({ key: "x", content: "y", publish: "now" })).do("x", () => 1);
  await ask(`CREATE ROLE ${role} LOGIN PASSWORD 'word-of-the-role'; GRANT USAGE ON SCHEMA openrath TO ${role};
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA openrath TO ${role};
    GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA openrath TO ${role}; GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA openrath TO ${role}`);
});
afterAll(async () => {
  await ask(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  await database[Symbol.asyncDispose]();
});

function onto(url: string): Rath {
  return openrath({ store: postgresStore(url, { migrate: url === database.url }), memory: postgresMemory(url) });
}

async function ask(sql: string): Promise<readonly Record<string, unknown>[]> {
  return (await withClient(database.url, (client) => client.query(sql))).rows;
}

async function vacuums(table: string): Promise<unknown> {
  const [row] = await ask(`SELECT vacuum_count::integer AS count FROM pg_stat_all_tables WHERE relid = 'openrath.${table}'::regclass`);
  return row?.["count"];
}

test("a role that may not vacuum leaves an erasure open, and an owner's gc finishes it", async () => {
  await using rath = onto(lesser);
  const session = await rath.session(`I am ${marker}`).do("greet", () => marker);
  const report = await rath.erase({ session }, who);
  expect(report.events.length).toBeGreaterThan(0);
  expect(report.scrubbed).toBe(false);
  expect(`${report}`).toMatch(/may still hold it: .*role may not vacuum/);
  expect(await rath.gc()).toMatchObject({ finished: [], open: report.entries });
  expect(await vacuums("frames")).toBe(0);
  await using owner = onto(database.url);
  expect(await owner.gc()).toMatchObject({ finished: report.entries, open: [] });
  expect(await vacuums("frames")).toBe(1);
  expect(await rath.gc()).toMatchObject({ finished: [], open: [] });
});

test("nor is a memory clean that it may not vacuum, though it may vacuum the store", async ({ skip }) => {
  const [server] = await ask("SELECT current_setting('server_version_num')::integer AS version");
  if (Number(server?.["version"]) < 170_000) skip("this PostgreSQL server has no MAINTAIN, which came with 17");
  const granted = (tables: string) => ask(`GRANT MAINTAIN ON ${tables} TO ${role}`);
  await granted("openrath.frames, openrath.blobs, openrath.logs, openrath.runs, openrath.event_ids");
  await using rath = onto(lesser);
  const remembering = () => rath.session("x").remember({ key: "who", content: marker, publish: "now" });
  expect(await rath.erase({ session: await remembering() }, who)).toMatchObject({ memories: [expect.any(String)], scrubbed: false });
  await granted("ALL TABLES IN SCHEMA openrath");
  expect(await rath.erase({ session: await remembering() }, who)).toMatchObject({ memories: [expect.any(String)], scrubbed: true });
});

test("a vacuum may take longer than other statements", async () => {
  await using store = postgresStore(`${database.url}?statement_timeout=1000`, { patienceMs: 100 }) as Required<Store>;
  await store.fedTo();
  const [scrubbed] = await withClient(database.url, async (client) => {
    await client.query("BEGIN; LOCK TABLE openrath.frames IN SHARE MODE");
    return Promise.all([store.scrub(), client.query("SELECT pg_sleep(1.5); COMMIT")]);
  });
  expect(scrubbed).toContain("openrath.frames");
});

/** Where the files of the database are. */
async function filesFolder(): Promise<string> {
  const [row] = await ask(
    "SELECT current_setting('data_directory') AS folder, oid::text AS oid FROM pg_database WHERE datname = current_database()",
  );
  return join(String(row?.["folder"]), "base", String(row?.["oid"]));
}

/** Which of them hold the marker. */
async function holding(folder: string): Promise<readonly string[]> {
  await ask("CHECKPOINT");
  return readdirSync(folder).filter((file) => readFileSync(join(folder, file)).includes(marker));
}

test("an erasure names the tables whose files may hold bytes of it, and writing those anew removes them", async ({ skip }) => {
  const folder = await filesFolder();
  if (!existsSync(folder)) skip("the files of this PostgreSQL server are elsewhere");
  await using rath = onto(database.url);
  // Rows of many lengths: a vacuum moves what stays over some of what is freed, and leaves the rest as it was.
  for (let i = 0; i < 40; i++) {
    const word = i % 3 === 0 ? marker : "ordinary";
    await rath.session(`I am ${word} ${"pad ".repeat(i * 20)}`).do("x", () => word.padEnd(i * 60, "y"));
  }
  await rath.session("x").remember({ key: "likes", content: `${marker} likes tea`, publish: "now" });
  expect(await holding(folder)).not.toEqual([]);
  const report = await rath.erase({ matching: marker }, who);
  expect(report.scrubbed).toBe(true);
  const tables = report.left.filter(({ what }) => what === "table");
  expect(tables).toEqual([
    { what: "table", id: expect.stringMatching(/openrath\.frames, .*openrath\.memory_bodies/), why: expect.any(String) },
  ]);
  expect(`${report}`).toMatch(/Left: table openrath\.frames, .*VACUUM FULL/);
  await ask(`VACUUM FULL ${tables[0]?.id}`);
  expect(await holding(folder)).toEqual([]);
});
