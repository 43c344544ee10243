/** `openrath db` on real databases: SQLite files and a PostgreSQL server, with the real pg_dump. */
import { execFileSync } from "node:child_process";
import { createPublicKey } from "node:crypto";
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openrath } from "../../src/index.ts";
import { openDatabase } from "../../src/sqlite/driver.ts";
import { openFile } from "../../src/sqlite/open.ts";
import { storeFormat } from "../../src/store/migrations/migrations.ts";
import { postgresFormat } from "../../src/store/migrations/postgres-format.ts";
import { call } from "../golden-cli/world.ts";
import { Flow } from "../support/flow.ts";
import { sharedPostgres, withClient } from "../support/postgres.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-db-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const db = (argv: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  call(undefined, ["db", ...argv], { terminal: false, cwd: folder, env: { ...env, USER: "ada" }, now: () => new Date() });
const say = new Flow((session) => session.do("say", () => "said", { repeat: "safe" }), "say");

/** A store with a session, a run and something remembered. */
async function made(store: string): Promise<string> {
  await using rath = openrath({ store, workflows: { say } });
  const { session } = await (await rath.run("say", rath.session("Hello"))).settle();
  await session.remember({ key: "tides", content: "Tides turn at noon", publish: "now" });
  return session.id;
}

function versionOf(file: string, set?: number): number | undefined {
  const database = openDatabase(file);
  if (set !== undefined) database.exec(`PRAGMA user_version = ${set}`);
  const version = database.prepare<{ user_version: number }>("PRAGMA user_version").get()?.user_version;
  database.close();
  return version;
}

describe("a file", () => {
  // Mutant: what cannot be opened ends the check with an error, whose advice is to check it.
  test("that is no database is what a check finds", async () => {
    const file = join(folder, "none.db");
    await writeFile(file, "no database at all, and long enough to be taken for one".repeat(100));
    const { exit, out, err } = await db(["check", "--store", file]);
    expect([exit, err]).toEqual([4, expect.not.stringContaining("next:")]);
    expect(out).toMatch(/^store\tfail\t.*none\.db cannot be used: it is not an SQLite database\. Nothing was changed\. Restore it/m);
  });

  // Mutants: a list of logs, or a search, ends at the first one whose newest events are damaged.
  test("that is damaged at the end of one session keeps nobody from the others", async () => {
    const file = join(folder, "torn.db");
    const rath = openrath({ store: file });
    const sound = await rath.session("sound").do("say", () => 1);
    let torn = await rath.session("torn").do("say", () => 1);
    torn = await torn.do("say", () => 2);
    await rath.close();
    const database = openDatabase(file);
    const log = `(SELECT no FROM logs WHERE id = '${torn.id}')`;
    database.exec(
      `UPDATE frames SET body = zeroblob(length(body)) WHERE place = (SELECT max(place) FROM frames WHERE place / 16777216 = ${log})`,
    );
    database.close();
    const env = { OPENRATH_STORE: file };
    const tell = (...argv: string[]) => call(undefined, argv, { terminal: false, cwd: folder, env });
    expect(await tell("show", sound.id)).toMatchObject({ exit: 0, out: expect.stringContaining(sound.head) });
    const listed = await tell("ls");
    expect([listed.exit, listed.out.includes(sound.id), listed.out.includes(torn.id)]).toEqual([1, true, false]);
    expect(listed.err).toMatch(new RegExp(`not read: session ${torn.id}: .*is damaged`));
    const hits = await tell("grep", "sound", "--json");
    expect([hits.exit, JSON.parse(hits.out).map(({ session }: { session: string }) => session)]).toEqual([1, [sound.id]]);
    for (const argv of [
      ["grep", "nowhere"],
      ["grep", "sound", "-l"],
    ]) {
      const { exit, err } = await tell(...argv);
      expect([exit, err]).toEqual([1, expect.stringMatching(/^not read: .*is damaged.*\n$/)]);
    }
    for (const argv of [
      ["verify", torn.id],
      ["verify", "--all"],
      ["db", "check"],
    ]) {
      const { exit, out } = await tell(...argv);
      expect([argv, exit]).toEqual([argv, 4]);
      expect(out).toMatch(new RegExp(`${torn.id}.* cannot be read`));
    }
  });

  test("is copied while it is open; the copy is private, whole and never overwrites anything", async () => {
    const file = join(folder, "used.db");
    const session = await made(file);
    await using rath = openrath({ store: file, workflows: { say } });
    await rath.ready();
    await call(undefined, ["keys", "create", "--role", "viewer", "--store", file], { terminal: false, cwd: folder });
    const keys = join(folder, "used.access.db");
    await chmod(keys, 0o644);
    const doctor = await call(undefined, ["doctor"], { terminal: false, cwd: tmpdir(), env: { OPENRATH_STORE: file } });
    expect(doctor.out).toContain(`access keys\twarn\t${keys} can be read by others\n`);
    // The key beside the store that is used, not one of the folder of the call.
    const { x } = createPublicKey(await readFile(join(folder, "signing-key.pem"))).export({ format: "jwk" });
    expect(doctor.out).toContain(`signing key\tok\tthere, private; others verify with --key ${x}\n`);
    await chmod(keys, 0o600);
    const copied = await db(["backup", "kept/copy.db", "--store", file, "--json"]);
    expect(copied).toMatchObject({ exit: 0, err: expect.stringContaining("signing-key.pem") });
    expect(JSON.parse(copied.out)).toMatchObject([
      { what: "store", file: join(folder, "kept/copy.db"), holds: { sessions: 1, runs: 1 } },
      { what: "memory", file: join(folder, "kept/copy.memory.db"), holds: { memories: 1 } },
      { what: "access", file: join(folder, "kept/copy.access.db"), holds: { keys: 1, entries: 0 } },
    ]);
    for (const name of ["copy.db", "copy.memory.db", "copy.access.db"])
      expect((await stat(join(folder, "kept", name))).mode & 0o777).toBe(0o600);
    const before = await readFile(join(folder, "kept/copy.db"));
    expect(await db(["backup", "kept/copy.db", "--store", file])).toMatchObject({
      exit: 4,
      err: expect.stringContaining("overwrite nothing"),
    });
    expect(before.equals(await readFile(join(folder, "kept/copy.db")))).toBe(true);
    expect(await db(["check", "--store", "kept/copy.db"])).toMatchObject({
      exit: 0,
      out: expect.stringContaining("signatures\twarn\t1 session"),
    });
    await using copy = openrath({ store: join(folder, "kept/copy.db") });
    expect((await copy.open(session)).output).toBe("said");
    const found = await copy.memory.search("tides");
    expect(found).toHaveLength(1);
  });

  test("of an older format is left alone by check, and brought to the newest by migrate", async () => {
    const file = join(folder, "old.db");
    openFile(file, openDatabase, { ...storeFormat, steps: storeFormat.steps.slice(0, 1) }).close();
    expect(await db(["check", "--store", file])).toMatchObject({ exit: 4, err: expect.stringContaining("openrath db migrate") });
    expect(await db(["migrate", "--check", "--store", file])).toMatchObject({
      exit: 4,
      out: `store\t1\t${storeFormat.steps.length}\t${file}\n`,
    });
    expect(versionOf(file)).toBe(1);
    expect(JSON.parse((await db(["migrate", "--store", file, "--json"])).out)).toMatchObject([
      { what: "store", from: 1, to: storeFormat.steps.length, changed: true },
    ]);
    expect(versionOf(file)).toBe(storeFormat.steps.length);
    expect(await db(["migrate"], { OPENRATH_STORE: file })).toMatchObject({ exit: 0, err: "There is nothing to do.\n" });
  });

  test("of a newer format is refused and not changed", async () => {
    const file = join(folder, "newer.db");
    await made(file);
    versionOf(file, 99);
    const before = await readFile(file);
    for (const argv of [["migrate"], ["migrate", "--check"], ["check"], ["backup", "x.db"]])
      expect(await db([...argv, "--store", file]), argv.join(" ")).toMatchObject({
        exit: 5,
        out: "",
        err: expect.stringContaining("has format 99"),
      });
    expect(before.equals(await readFile(file))).toBe(true);
  });

  test("is checked with the record of its sessions; damage ends with 4", async () => {
    const file = join(folder, "checked.db");
    await made(file);
    expect(await db(["check", "--store", file])).toMatchObject({
      exit: 0,
      out: expect.stringMatching(/^sessions\tok\t1 session, \d+ events verified$/m),
    });
    // What sessions share counts once, as verify --all counts it. Mutant: each session is added up with all that is behind it.
    await using rath = openrath({ store: file, workflows: { say } });
    const [id = ""] = (await call(undefined, ["ls"], { terminal: false, cwd: folder, env: { OPENRATH_STORE: file } })).out.split("\t");
    for (const name of ["left", "right"]) await rath.save((await rath.open(id)).fork(name));
    const all = await call(undefined, ["verify", "--all"], { terminal: false, cwd: folder, env: { OPENRATH_STORE: file } });
    const [, counted] = /3 sessions, (\d+) events checked/.exec(all.err) ?? [];
    expect((await db(["check", "--store", file])).out).toContain(`sessions\tok\t3 sessions, ${counted} events verified\n`);
    await rath.close();
    // What SQLite cannot notice: other bytes in a place where bytes are.
    const database = openDatabase(file);
    database.exec("UPDATE frames SET body = zeroblob(length(body)) WHERE place = (SELECT max(place) FROM frames)");
    database.close();
    expect(await db(["check", "--store", file])).toMatchObject({ exit: 4 });
    const bytes = await readFile(file);
    bytes.fill(0xff, 4096 * 3, 4096 * 3 + 200);
    await writeFile(file, bytes);
    expect(await db(["check", "--store", file])).toMatchObject({ exit: 4 });
    expect(await db(["check", "--store", "nothing.db"])).toMatchObject({ exit: 3 });
  });
});

describe("PostgreSQL", () => {
  let url = "";
  beforeAll(async () => {
    const shared = await sharedPostgres();
    const name = `db${process.pid}_${Date.now().toString(36)}`;
    await withClient(shared, (client) => client.query(`CREATE DATABASE ${name}`));
    url = Object.assign(new URL(shared), { pathname: `/${name}` }).href;
  });
  const onServer = (...argv: readonly string[]) => db(argv, { OPENRATH_STORE: url, OPENRATH_HOME: join(folder, "home") });

  test("is made, checked and migrated, and no password is ever shown", async () => {
    const secret = new URL(url).password;
    const none = await onServer("check");
    expect(none).toMatchObject({ exit: 0, out: expect.stringContaining("no schema openrath yet") });
    expect(await onServer("migrate", "--check")).toMatchObject({
      exit: 4,
      out: expect.stringMatching(/^store\t0\t3\tPostgreSQL at .*, schema openrath$/m),
    });
    const tables = await withClient(url, (client) => client.query("SELECT to_regclass('openrath.logs')::text AS logs"));
    expect(tables.rows).toEqual([{ logs: null }]);
    expect(await onServer("migrate")).toMatchObject({ exit: 0, err: expect.stringContaining("migrated store, memory, access") });
    const made = await withClient(url, (client) => client.query("SELECT family FROM openrath.formats ORDER BY family"));
    expect(made.rows.map(({ family }) => family)).toEqual(["access", "memory", "store"]);
    expect(await onServer("migrate")).toMatchObject({ exit: 0, err: "There is nothing to do.\n" });
    await using rath = openrath({ store: url, workflows: { say } });
    await (await rath.run("say", rath.session("Hello"))).settle();
    const checked = await onServer("check");
    expect(checked.exit, checked.both).toBe(0);
    expect(checked.out).toMatch(/^server\tok\tPostgreSQL \d+.*\nclock\tok/m);
    expect(checked.out).toMatch(/^store holds\tok\t1 session, 1 run, /m);
    expect(checked.out).toMatch(/^memory format\tok\t/m);
    expect(checked.out).toMatch(/^sessions\tok\t1 session/m);
    expect(none.both + checked.both).not.toContain(secret);
    const late = await behind(5000, () => onServer("check"));
    expect(late.out).toMatch(/^clock\twarn\tthe server's is 5\.\d s ahead of this machine's.*\n(?:.*\n)*sessions\tok\t1 session/m);
    await withClient(url, (client) => client.query("UPDATE openrath.formats SET version = 99"));
    expect(await onServer("migrate")).toMatchObject({ exit: 5, out: "", err: expect.stringContaining("format 99") });
    expect(await onServer("check")).toMatchObject({ exit: 5 });
    await withClient(url, (client) =>
      client.query(`UPDATE openrath.formats SET version = ${postgresFormat.steps.length} WHERE family = 'store'`),
    );
  });

  test("is dumped by pg_dump where that is there and new enough; else it says what to do", async () => {
    const file = join(folder, "server.dump");
    const done = await onServer("backup", file);
    const server = await withClient(
      url,
      async (client) => (await client.query("SHOW server_version_num")).rows[0]?.server_version_num as string,
    );
    const fits = dumpVersion() >= Math.floor(Number(server) / 10_000);
    expect(done.both).not.toContain(new URL(url).password);
    if (fits) {
      expect(done).toMatchObject({ exit: 0, out: expect.stringContaining(file) });
      expect((await stat(file)).mode & 0o777).toBe(0o600);
      expect((await readFile(file)).subarray(0, 5).toString()).toBe("PGDMP");
      expect(await onServer("backup", file)).toMatchObject({ exit: 4 });
    } else {
      expect(done).toMatchObject({ exit: 1, out: "", err: expect.stringContaining("pg_dump --format=custom --schema=openrath") });
      await expect(stat(file)).rejects.toThrow("ENOENT");
    }
  });
});

/** With a clock that is late. */
async function behind<T>(ms: number, work: () => Promise<T>): Promise<T> {
  const real = Date.now;
  Date.now = () => real() - ms;
  try {
    return await work();
  } finally {
    Date.now = real;
  }
}

function dumpVersion(): number {
  try {
    return Number(/(\d+)/.exec(execFileSync("pg_dump", ["--version"]).toString())?.[1]);
  } catch {
    return 0;
  }
}
