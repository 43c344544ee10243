/** What others may do to a database and to whoever works on it: texts it cannot hold, roles with few rights, notifications of anybody. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Flow } from "../../test/support/flow.ts";
import { until } from "../../test/support/other-process.ts";
import { dropSchemas, freshDatabase, freshSchema, sharedPostgres, withClient } from "../../test/support/postgres.ts";
import { composeRath } from "../openrath.ts";
import { failureOf } from "../postgres/driver.ts";
import { postgresStore } from "./postgres.ts";
import type { News, Store } from "./store.ts";

let url = "";
const schemas: string[] = [];
beforeAll(async () => {
  url = await sharedPostgres();
});
afterAll(() => dropSchemas(url, schemas));

function schema(): string {
  schemas.push(freshSchema());
  return schemas.at(-1) as string;
}

test("a text that PostgreSQL cannot hold is refused where it is given, and what comes next is stored", async () => {
  await using rath = composeRath({ store: postgresStore(url, { schema: schema() }) }, {});
  const flow = new Flow((session) => session.do("x", () => "\0"));
  const refused = { code: "value.unsupported" };
  for (const bad of ["a\0b", "a\ud800b"]) {
    expect(() => rath.session("go", { title: bad })).toThrow(expect.objectContaining(refused));
    expect(() => rath.session("go", { tags: [bad] })).toThrow(expect.objectContaining(refused));
    expect(() => rath.session("go", { principal: bad })).toThrow(expect.objectContaining(refused));
    await expect(rath.run(flow, rath.session("go"), { key: bad })).rejects.toMatchObject(refused);
    await expect(rath.run(bad, rath.session("go"), { queue: true })).rejects.toMatchObject(refused);
    await expect(rath.attach(bad)).rejects.toMatchObject({ code: "run.not-found" });
    await expect(rath.open(bad)).rejects.toMatchObject({ code: "session.not-found" });
    await expect(rath.send(bad, "x")).rejects.toMatchObject({ code: "run.not-found" });
  }
  await expect(rath.run(flow, rath.session("go"), { key: "k".repeat(601) })).rejects.toMatchObject(refused);
  // What is said may be anything: it is kept as bytes.
  const run = await rath.run(flow, rath.session("\0\ud800"), { key: "\u{1F600}".repeat(300) });
  expect((await run.result()).output).toBe("\0");
});

test("who listens outlives what anybody notifies", async () => {
  const name = schema();
  await using store = postgresStore(url, { schema: name });
  const heard: News[] = [];
  await using _ = await (store as Required<Store>).watch((news) => heard.push(news));
  await withClient(url, async (client) => {
    for (const payload of ["", "{", "null", "7", '"x"', "[]", '["default","default",{"a":1}]', '["default","default",[1,"s"]]'])
      await client.query("SELECT pg_notify($1, $2)", [`"${name}".news`, payload]);
  });
  await until("the last of them", () => heard.length >= 2);
  expect(heard).toEqual([
    { due: false, logs: [] },
    { due: false, logs: ["s"] },
  ]);
});

test("who may not make schemas uses one that was made for him, and is told what is missing where there is none", async () => {
  await using database = await freshDatabase();
  const role = freshSchema();
  const own = new URL(database.url);
  own.username = role;
  own.password = "word-of-the-role";
  await withClient(database.url, (client) =>
    client.query(`CREATE ROLE ${role} LOGIN PASSWORD 'word-of-the-role'; CREATE SCHEMA given AUTHORIZATION ${role}`),
  );
  try {
    await using store = postgresStore(own.href, { schema: "given" });
    await store.append({
      branches: [],
      run: { id: "r", key: undefined, session: "s", workflow: "w", status: "queued", wakeAt: undefined },
    });
    await using none = postgresStore(own.href, { schema: "other" });
    await expect(none.claim("r", "w", 1000)).rejects.toMatchObject({
      code: "store.unavailable",
      message: expect.stringMatching(/permission denied.*openrath db migrate/),
    });
  } finally {
    await withClient(database.url, (client) => client.query(`DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`));
  }
});

test("a server that is full, slow or a standby is tried again; what it refuses is not", () => {
  const said = (code: string) => failureOf(Object.assign(new Error("x"), { code, severity: "ERROR" }));
  for (const code of ["57014", "53100", "53200", "53300", "25006", "40001"]) expect(said(code)).toBe("again");
  for (const code of ["22P05", "42501", "42P01", "54000"]) expect(said(code)).toBe("refused");
});

test("who listens and does nothing else ends by itself, without being closed", { timeout: 20_000 }, async () => {
  const opener = JSON.stringify(new URL("./postgres.ts", import.meta.url).href);
  const program = `const { postgresStore } = await import(${opener});
    await postgresStore(process.env.URL, { schema: process.env.SCHEMA }).watch(() => {});
    console.log("listens");`;
  const env = { ...process.env, URL: url, SCHEMA: schema() };
  const node = ["--import", "tsx", "--input-type=module", "-e", program];
  const { stdout } = await promisify(execFile)(process.execPath, node, { env, timeout: 15_000 });
  expect(stdout).toBe("listens\n");
});
