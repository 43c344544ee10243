/** The key that signs: made once, whoever begins at the same time, and what is signed on another machine of the same database. */
import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { verify } from "../../src/audit/verify.ts";
import { openrath } from "../../src/openrath.ts";
import { Key } from "../../src/runtime/key.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { sqliteStore } from "../../src/store/sqlite.ts";
import type { Store } from "../../src/store/store.ts";
import { Flow } from "../support/flow.ts";
import { freshDatabase } from "../support/postgres.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "openrath-key-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test("is one for all who begin at once, private, and leaves nothing else behind", async () => {
  const store = join(folder, "s.db");
  const raths = Array.from({ length: 12 }, () => openrath({ store }));
  const flow = new Flow((session) => session.do("x", () => 1));
  const sessions = await Promise.all(raths.map(async (rath) => (await rath.run(flow, rath.session("go"))).result()));
  for (const session of sessions) expect(await verify(session)).toMatchObject({ ok: true, unknownKeys: [] });
  await Promise.all(raths.map((rath) => rath.close()));
  expect((await readdir(folder)).filter((name) => name.includes("key"))).toEqual(["signing-key.pem"]);
  expect((await stat(join(folder, "signing-key.pem"))).mode & 0o777).toBe(0o600);
});

test("that cannot be read is named, and put back it is used", async () => {
  const store = join(folder, "s.db");
  await writeFile(join(folder, "signing-key.pem"), "", { mode: 0o600 });
  await using rath = openrath({ store });
  const session = await rath.session("go").do("x", () => 1);
  await expect(verify(session)).rejects.toMatchObject({ message: expect.stringContaining("signing-key.pem is no ed25519 key") });
  await writeFile(join(folder, "signing-key.pem"), new Key(undefined).pem);
  expect(await verify(session)).toMatchObject({ ok: true });
});

test("of another machine of the same database: nothing is wrong, and nothing is proven until it is given", {
  timeout: 30_000,
}, async () => {
  await using database = await freshDatabase();
  const program = `
    const { openrath } = await import(${JSON.stringify(new URL("../../src/openrath.ts", import.meta.url).href)});
    const { verify } = await import(${JSON.stringify(new URL("../../src/audit/verify.ts", import.meta.url).href)});
    const { Flow } = await import(${JSON.stringify(new URL("../support/flow.ts", import.meta.url).href)});
    const [, id, ...keys] = process.argv;
    const rath = openrath({ store: process.env.STORE });
    const session = id === "-" ? await (await rath.run(new Flow((s) => s.do("x", () => 1)), rath.session("go"))).result() : await rath.open(id);
    const { ok, problems, unknownKeys, unsigned } = await verify(session, { keys });
    console.log(JSON.stringify({ id: session.id, ok, problems, unknownKeys, unsigned }));
    await rath.close();`;
  const machine = async (
    home: string,
    ...args: string[]
  ): Promise<{ id: string; ok: boolean; unknownKeys: string[]; unsigned: number }> => {
    const env = { ...process.env, STORE: database.url, OPENRATH_HOME: join(folder, home) };
    const node = ["--import", "tsx", "--input-type=module", "-e", program, "--", ...args];
    return JSON.parse((await promisify(execFile)(process.execPath, node, { env, cwd: process.cwd() })).stdout);
  };
  const made = await machine("one", "-");
  expect(made).toMatchObject({ ok: true, unknownKeys: [], unsigned: 0 });
  const key = new Key(await readFile(join(folder, "one", "signing-key.pem"), "utf8")).id;
  expect(await machine("two", made.id)).toMatchObject({ ok: false, problems: [], unknownKeys: [key] });
  expect(await machine("two", made.id, key)).toMatchObject({ ok: true, problems: [], unknownKeys: [], unsigned: 0 });
});

test("of a store that is given as an object is kept like that of its path", async () => {
  const path = join(folder, "s.db");
  const flow = new Flow((session) => session.do("x", () => 1));
  const made = await (async () => {
    await using rath = openrath({ store: sqliteStore(path) });
    return (await (await rath.run(flow, rath.session("go"))).result()).id;
  })();
  expect((await stat(join(folder, "signing-key.pem"))).mode & 0o777).toBe(0o600);
  for (const store of [sqliteStore(path), path]) {
    await using rath = openrath({ store });
    expect(await verify(await rath.open(made))).toMatchObject({ ok: true, problems: [], unknownKeys: [], unsigned: 0 });
  }
});

test("of a store of one's own is kept under the home, and a store in memory leaves none", async () => {
  const home = join(folder, "home");
  const before = process.env["OPENRATH_HOME"];
  process.env["OPENRATH_HOME"] = home;
  try {
    const own: Store = { ...sqliteStore(join(folder, "s.db")), kind: "own" };
    for (const store of [memoryStore(), own]) {
      expect(await readdir(home).catch(() => [])).not.toContain("signing-key.pem");
      await using rath = openrath({ store });
      const session = await (await rath.run(new Flow((at) => at.do("x", () => 1)), rath.session("go"))).result();
      expect(await verify(session)).toMatchObject({ ok: true, unknownKeys: [] });
    }
    expect(await readdir(home)).toContain("signing-key.pem");
  } finally {
    if (before === undefined) delete process.env["OPENRATH_HOME"];
    else process.env["OPENRATH_HOME"] = before;
  }
});
