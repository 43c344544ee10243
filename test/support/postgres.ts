/** A real PostgreSQL for tests: a schema of one's own on the shared server, or a server of one's own to stop and to kill. */
import pg from "pg";
import { afterAll, beforeAll, inject } from "vitest";
import { borrow } from "./lender.ts";
import { type PostgresServer, startServer } from "./postgres-server.ts";

export type { PostgresServer } from "./postgres-server.ts";

let schemas = 0;

/** The URL of the server that all test files share; asking for it starts it. */
export function sharedPostgres(): Promise<string> {
  return borrow(inject("postgresPort"));
}

/** A schema nobody else uses. It need not be dropped: the server goes with the run. */
export function freshSchema(): string {
  return `t${process.pid}_${Date.now().toString(36)}_${schemas++}`;
}

/** Drops schemas, for servers that outlive the run. */
export async function dropSchemas(url: string, names: Iterable<string>): Promise<void> {
  await withClient(url, async (client) => {
    for (const name of names) await client.query(`DROP SCHEMA IF EXISTS "${name}" CASCADE; DROP SCHEMA IF EXISTS "${name}_boss" CASCADE`);
  });
}

/** Gives schemas of its own on the shared server to a test file, which is told its URL; they are dropped at its end. */
export function ownSchemas(tell: (url: string) => void): () => string {
  const names: string[] = [];
  let url = "";
  beforeAll(async () => {
    url = await sharedPostgres();
    tell(url);
  });
  afterAll(() => dropSchemas(url, names));
  return () => {
    const name = freshSchema();
    names.push(name);
    return name;
  };
}

/** Does something over a connection of its own. */
export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: "test" });
  client.on("error", () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end().catch(() => {});
  }
}

/** A server for tests that stop, restart or kill it. */
export function ownPostgres(flags?: readonly string[]): Promise<PostgresServer> {
  return startServer(flags);
}

/** A database of its own on the shared server, for what uses the default schema; dropped when it is disposed. */
export async function freshDatabase(): Promise<AsyncDisposable & { readonly url: string }> {
  const shared = await sharedPostgres();
  const name = freshSchema();
  await withClient(shared, (client) => client.query(`CREATE DATABASE ${name}`));
  const url = new URL(shared);
  url.pathname = `/${name}`;
  const drop = async (): Promise<void> => {
    await withClient(shared, (client) => client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`));
  };
  return { url: url.href, [Symbol.asyncDispose]: drop };
}
