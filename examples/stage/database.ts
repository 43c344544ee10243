/** Where PostgreSQL comes from: a database of its own on the server at DATABASE_URL, else a server of its own. Both are gone afterwards. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import pg from "pg";

export interface Database extends AsyncDisposable {
  readonly url: string;
  /** Which one it is, for people. */
  readonly about: string;
}

export async function openDatabase(): Promise<Database> {
  const given = process.env["DATABASE_URL"];
  return given === undefined || given === "" ? ownServer() : ownDatabase(given);
}

async function ownDatabase(server: string): Promise<Database> {
  const name = `openrath_cluster_${process.pid}_${Date.now().toString(36)}`;
  const ask = async (sql: string): Promise<void> => {
    const client = new pg.Client(server);
    await client.connect();
    await client.query(sql).finally(() => client.end());
  };
  await ask(`CREATE DATABASE ${name}`);
  const url = Object.assign(new URL(server), { pathname: `/${name}` });
  return {
    url: url.href,
    about: `the database ${name} on ${url.host} (DATABASE_URL), made for this run`,
    [Symbol.asyncDispose]: () => ask(`DROP DATABASE ${name} WITH (FORCE)`),
  };
}

async function ownServer(): Promise<Database> {
  // Detached: Ctrl+C must not reach it before those who use it are gone.
  const server = fork(fileURLToPath(new URL("postgres.ts", import.meta.url)), { detached: true });
  const ended = once(server, "exit");
  const [url] = await Promise.race([once(server, "message"), ended.then(() => [])]);
  if (typeof url !== "string") throw new Error("PostgreSQL could not be started here: set DATABASE_URL to a server that you have");
  return {
    url,
    about: `a server of its own on ${new URL(url).host}, started for this run`,
    [Symbol.asyncDispose]: async () => {
      server.disconnect();
      await ended;
    },
  };
}
