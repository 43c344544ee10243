/** Looking after a database from outside: which format its tables have, what the server says of itself. Nothing here knows a table. */
import { RathError } from "../session/errors.ts";
import { addressOf } from "./address.ts";
import { Connection, type PostgresOptions } from "./connection.ts";
import type { PostgresPool } from "./driver.ts";
import type { Format } from "./format.ts";

/** One family of our tables in a database, and what can be done with it while others use it. */
export interface DatabaseTables {
  /** Host, port and database; never the password. */
  readonly place: string;
  readonly schema: string;
  /** What reaches it; undefined where the caller gave a pool of its own. */
  readonly url: string | undefined;
  /** How it is reached, and whose part of it this is. */
  readonly source: string | PostgresPool;
  readonly options: PostgresOptions;
  /** The format that this version of the package reads and writes. */
  readonly newest: number;
  /** The format they have; undefined while there are none. Changes nothing; a newer format than ours is refused. */
  format(): Promise<number | undefined>;
  /** Brings them to the newest format. A newer one is refused. */
  migrate(): Promise<void>;
  /** Answers of a database that has the newest format. */
  ask<Row>(sql: string): Promise<readonly Row[]>;
}

interface Kept {
  readonly source: string | PostgresPool;
  readonly options: PostgresOptions;
  readonly format: Format;
}

const databases = new WeakMap<object, Kept>();

/** Remembers in which database something is kept. */
export function keptAt(thing: object, source: string | PostgresPool, options: PostgresOptions, format: Format): void {
  databases.set(thing, { source, options, format });
}

/** The tables something is kept in; nothing is connected for this. */
export function tablesOf(thing: object): DatabaseTables | undefined {
  const kept = databases.get(thing);
  if (kept === undefined) return undefined;
  const { source, options, format } = kept;
  const connected = async <T>(migrate: boolean, work: (connection: Connection) => Promise<T>): Promise<T> => {
    const connection = new Connection(source, { ...options, migrate, max: 1 }, format);
    try {
      await connection.open();
      return await work(connection);
    } finally {
      await connection.close();
    }
  };
  return {
    place: typeof source === "string" ? addressOf(source).place : "a PostgreSQL database",
    schema: options.schema ?? "openrath",
    url: typeof source === "string" ? source : undefined,
    ...{ source, options },
    newest: format.steps.length,
    format: () =>
      connected(false, async () => format.steps.length).catch((error: unknown) => {
        if (!RathError.is(error, "store.older-format")) throw error;
        return (error.details["version"] as number) || undefined;
      }),
    migrate: () => connected(true, async () => {}),
    ask: <Row>(sql: string) => connected(false, (connection) => connection.read<Row>(sql)),
  };
}
