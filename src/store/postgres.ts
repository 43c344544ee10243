/** The store in a PostgreSQL database: for several machines. See `postgres-store.ts` for how it is made. */
import type { PostgresPool } from "../postgres/driver.ts";
import { type PostgresStoreOptions, storeOn } from "./postgres-store.ts";
import type { Store } from "./store.ts";

export type { PostgresPool } from "../postgres/driver.ts";
export type { StoreClock } from "./postgres-runs.ts";
export type { PostgresStoreOptions } from "./postgres-store.ts";

/**
 * A store in the database at `url`, whose tables are made in a schema of their own when it is first used. Any number of processes and
 * machines may have it open. Needs the package `pg`; a pool of your own (`pg.Pool`, or anything with `query`) may be given instead,
 * stays yours to close, and without `connect`, or with room for one connection only, cannot tell of changes. Waking workers at a time needs the package `pg-boss`.
 *
 * @example
 * await using store = postgresStore("postgres://user:password@localhost:5432/app");
 * for await (const { id, title } of store.sessions({ log: "session" })) console.log(id, title);
 */
export function postgresStore(url: string | PostgresPool, options: PostgresStoreOptions = {}): Store {
  return storeOn(url, options);
}
