/** What `openrath db` needs to know of a store in PostgreSQL. */
import { addressOf } from "../postgres/address.ts";
import { type DatabaseTables, tablesOf } from "../postgres/upkeep.ts";
import type { Store } from "./store.ts";

export type { DatabaseTables } from "../postgres/upkeep.ts";

/** The tables of a store that `postgresStore` made; nothing is connected for this. */
export function storeTablesOf(store: Store): DatabaseTables | undefined {
  return tablesOf(store);
}

/** Where the database of a URL is, without user and password. */
export function placeOfDatabase(url: string): string {
  return addressOf(url).place;
}

/** What the server and the tables say of themselves. */
export interface DatabaseFacts {
  readonly server: string;
  /** How far its clock, which judges leases, is ahead of this machine's. */
  readonly skewMs: number;
  /** Of pg-boss's tables; undefined while no worker has made them. */
  readonly boss: number | undefined;
  readonly bytes: number;
  readonly counts: Readonly<Record<string, number>>;
}

/** Asks a database of the newest format. */
export async function factsOf(tables: DatabaseTables): Promise<DatabaseFacts> {
  const sent = Date.now();
  const [server] = await tables.ask<{ readonly version: string; readonly now: number; readonly bytes: number; readonly boss: boolean }>(
    `SELECT current_setting('server_version') AS version, (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now,
       pg_database_size(current_database())::float8 AS bytes, to_regclass('"${tables.schema}_boss".version') IS NOT NULL AS boss`,
  );
  // Connecting comes before asking: the answer is nearer to the end of the time it took.
  const skewMs = Math.round((server?.now ?? sent) - Date.now());
  const [boss] =
    server?.boss === true ? await tables.ask<{ readonly version: number }>(`SELECT version FROM "${tables.schema}_boss".version`) : [];
  const [counts] = await tables.ask<Record<string, number>>(
    `SELECT (SELECT count(*) FROM openrath.logs WHERE log = 'session')::float8 AS sessions,
       (SELECT count(*) FROM openrath.runs)::float8 AS runs, (SELECT count(*) FROM openrath.blobs)::float8 AS blobs`,
  );
  return { server: server?.version ?? "", skewMs, boss: boss?.version, bytes: server?.bytes ?? 0, counts: counts ?? {} };
}
