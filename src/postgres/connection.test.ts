/** The seam to PostgreSQL on a real server: formats, many openers at once, patience, and errors without the password. */
import { inspect } from "node:util";
import pg from "pg";
import { expect, test } from "vitest";
import { ownSchemas, withClient } from "../../test/support/postgres.ts";
import { RathError } from "../session/errors.ts";
import { Connection, type PostgresOptions } from "./connection.ts";
import type { Format } from "./format.ts";

const first = "CREATE TABLE openrath.things (no integer PRIMARY KEY, body bytea); INSERT INTO openrath.things VALUES (1, '\\x00ff')";
const second = "ALTER TABLE openrath.things ADD COLUMN word text";
const format = (...steps: string[]): Format => ({ family: "store", steps, opener: "postgresStore" });

let url = "";
const schema = ownSchemas((shared) => {
  url = shared;
});

function opened(options: PostgresOptions, steps = [first], source: ConstructorParameters<typeof Connection>[0] = url): Connection {
  return new Connection(source, options, format(...steps));
}

test("an empty database that many open at once is made exactly once", async () => {
  const options = { schema: schema() };
  const all = Array.from({ length: 12 }, () => opened(options, [first, second]));
  await Promise.all(all.map((connection) => connection.open()));
  const rows = await Promise.all(all.map((connection) => connection.read<{ no: number }>("SELECT no FROM openrath.things")));
  expect(rows).toEqual(all.map(() => [{ no: 1 }]));
  await Promise.all(all.map((connection) => connection.close()));
});

test("an older format is migrated by a newer version, and refused when that is not allowed", async () => {
  const options = { schema: schema() };
  await expect(opened({ ...options, migrate: false }).open()).rejects.toMatchObject({ code: "store.older-format" });
  expect(await withClient(url, (client) => client.query(`SELECT 1 FROM pg_namespace WHERE nspname = '${options.schema}'`))).toMatchObject({
    rows: [],
  });
  const old = opened(options);
  await old.open();
  await expect(opened({ ...options, migrate: false }, [first, second]).open()).rejects.toThrow(/openrath db migrate/);
  const newer = opened(options, [first, second]);
  expect(await newer.read("SELECT no, word FROM openrath.things")).toEqual([{ no: 1, word: null }]);
  await expect(opened(options).open()).rejects.toMatchObject({ code: "store.newer-format", details: { version: 2, known: 1 } });
  await Promise.all([old.close(), newer.close()]);
});

test("what changes a format, and what is not hurried, takes as long as it takes, whatever limits statements have", async () => {
  const options = { schema: schema() };
  const hurried = `${url}?statement_timeout=300&query_timeout=600`;
  const pool = new pg.Pool({ connectionString: hurried, max: 1 });
  const steps = [first, `${second}; SELECT pg_sleep(0.9)`, "DO $$ BEGIN PERFORM pg_sleep(0.9); END $$"];
  for (const [i, source] of [hurried, pool].entries()) {
    const connection = opened(options, steps.slice(0, i + 2), source);
    await connection.open();
    await connection.unhurried(
      "DO $$ BEGIN PERFORM pg_sleep(0.9); INSERT INTO openrath.things SELECT max(no) + 1 FROM openrath.things; END $$",
    );
    // What somebody waits for keeps its limits.
    expect(await connection.read("SHOW statement_timeout")).toEqual([{ statement_timeout: "300ms" }]);
    expect(await connection.read("SELECT no, word FROM openrath.things")).toHaveLength(i + 2);
    await connection.close();
  }
  await pool.end();
});

test("numbers and bytes come as they are, whatever bytes they have", async () => {
  const connection = opened({ schema: schema() });
  const sql = "SELECT body, 128 AS no, 1000::bigint AS large, 1.5::float8 AS half, ARRAY[200] AS all FROM openrath.things WHERE no = $1";
  expect(await connection.read(sql, [1])).toEqual([{ body: Buffer.from([0, 255]), no: 128, large: "1000", half: 1.5, all: [200] }]);
  await connection.close();
});

test("a pool of the caller's own needs nothing but query, and stays open", async () => {
  const pool = new pg.Pool({ connectionString: url });
  const connection = opened({ schema: schema() }, [first], { query: (sql, values) => pool.query(sql, values) });
  expect(connection.listens).toBe(false);
  expect(await connection.read("SELECT body FROM openrath.things WHERE no = $1", [1])).toEqual([{ body: Buffer.from([0, 255]) }]);
  await connection.close();
  expect((await pool.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
  await pool.end();
});

test("a pool of the caller's own whose connections others keep is waited for as long as patience says", async () => {
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  const connection = opened({ schema: schema(), patienceMs: 300 }, [first], pool);
  await connection.open();
  const kept = await pool.connect();
  const refused = {
    code: "store.unavailable",
    retryable: true,
    message: expect.stringMatching(/no free connection for 300 ms.*more room/),
  };
  await expect(connection.write("UPDATE openrath.things SET no = 2")).rejects.toMatchObject(refused);
  await expect(connection.listen("openrath.news", { hear: () => {}, missed: () => {} })).rejects.toMatchObject(refused);
  kept.release();
  // What came too late was given back, and nothing was sent with it.
  expect(await connection.read("SELECT no FROM openrath.things")).toEqual([{ no: 1 }]);
  expect([pool.totalCount, pool.idleCount, pool.waitingCount]).toEqual([1, 1, 0]);
  await connection.close();
  await pool.end();
});

test("statements on a pool of the caller's own leave nothing on its connections, and one that was cut is not used again", async () => {
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  pool.on("error", () => {});
  const connection = opened({ schema: schema() }, [first], pool);
  for (let i = 0; i < 20; i++) await connection.read("SELECT no FROM openrath.things WHERE no = $1", [1]);
  for (let i = 0; i < 20; i++)
    await expect(connection.write("INSERT INTO openrath.things VALUES (1)")).rejects.toMatchObject({ code: "store.conflict" });
  const client = await pool.connect();
  expect(client.listenerCount("error")).toBeLessThan(3);
  expect((await client.query("SELECT name FROM pg_prepared_statements")).rows).toEqual([]);
  client.release();
  const cut = connection.write("SELECT pg_terminate_backend(pg_backend_pid())");
  await expect(cut).rejects.toMatchObject({ code: "store.unavailable" });
  expect(await connection.read("SELECT no FROM openrath.things")).toEqual([{ no: 1 }]);
  await connection.close();
  await pool.end();
});

test("what reads is asked again after its connection was cut, what writes is not", async () => {
  const name = schema();
  const connection = opened({ schema: name, max: 1 });
  const cutting = (sql: string) => `WITH cut AS MATERIALIZED (SELECT pg_terminate_backend(pg_backend_pid())) ${sql}`;
  await connection.open();
  let cuts = 0;
  const rows = await withClient(url, async (client) => {
    // Who reads it waits for this lock, however long it takes to be found.
    await client.query(`BEGIN; LOCK TABLE "${name}".things IN ACCESS EXCLUSIVE MODE`);
    const reading = connection.read("SELECT no FROM openrath.things");
    for (; cuts === 0; ) {
      const { rows: cut } = await client.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%${name}%' AND wait_event_type = 'Lock'`,
      );
      cuts += cut.length;
    }
    await client.query("COMMIT");
    return reading;
  });
  expect(rows).toEqual([{ no: 1 }]);
  expect(cuts).toBe(1);
  const failed = connection.write(cutting("UPDATE openrath.things SET no = 2 FROM cut"));
  await expect(failed).rejects.toMatchObject({ code: "store.unavailable", retryable: true });
  await expect(failed).rejects.toThrow(/outcome is unknown/);
  expect(await connection.read("SELECT no FROM openrath.things")).toEqual([{ no: 1 }]);
  await connection.close();
});

test("no error holds the password", async () => {
  const secret = "p%40ss-w0rd-of-nobody";
  const wrong = url.replace(/:[^:@/]+@/, `:${secret}@`);
  const dead = `postgres://u:${secret}@127.0.0.1:1/db`;
  const errors: unknown[] = [];
  const keep = (error: unknown) => errors.push(error);
  await opened({ schema: schema() }, [first], wrong).open().catch(keep);
  await opened({ patienceMs: 50 }, [first], dead).open().catch(keep);
  try {
    opened({}, [first], `postgres://u:${secret}@h:port/db`);
  } catch (error) {
    keep(error);
  }
  expect(errors.map((error) => RathError.is(error) && error.code)).toEqual(["store.unavailable", "store.unavailable", "value.unsupported"]);
  for (const error of errors) expect(inspect(error, { depth: 8, showHidden: true })).not.toMatch(/w0rd-of-nobody/);
});

test("a server without TLS, of which the URL asks it, is refused at once and by that name", async () => {
  const start = performance.now();
  const refused = opened({ schema: schema(), patienceMs: 20_000 }, [first], `${url}?sslmode=require`).open();
  await expect(refused).rejects.toMatchObject({ code: "store.unavailable", retryable: false });
  await expect(refused).rejects.toThrow(/does not support SSL.*Its URL asks for TLS \(sslmode\)/);
  expect(performance.now() - start).toBeLessThan(15_000);
});

test("a schema that is no plain name is refused", () => {
  for (const name of ["a b", 'x"y', "Upper", "1st", "pg_x", "", "openrath_boss"])
    expect(() => opened({ schema: name })).toThrow(/cannot be used/);
});

test("a closed connection refuses every call", async () => {
  const connection = opened({ schema: schema() });
  await connection.open();
  await connection.close();
  await expect(connection.read("SELECT 1")).rejects.toMatchObject({ code: "store.closed" });
});
