/**
 * The seam between our stores and PostgreSQL: the driver `pg`, loaded when the first database is opened, and what its errors mean.
 *
 * It knows nothing of our tables. Drivers of others fit too: whatever has `query` keeps sessions; hearing of changes needs `connect`.
 */
import { RathError } from "../session/errors.ts";

/** A pool of the caller's own, as `pg.Pool` is. Only `query` is needed; without `connect` nobody can be told of changes. */
export interface PostgresPool {
  query(sql: string, values?: unknown[]): Promise<unknown>;
  /** A connection: for a statement, and one to listen on for as long as a store is watched, which needs room for two. */
  connect?(): Promise<unknown>;
  /** Of `pg.Pool`: a pool of one connection is not listened on. */
  readonly options?: { readonly max?: number | undefined } | undefined;
}

/** A statement; one with a name is prepared once per connection. Its columns come as text, which the driver's parsers read: int8 must be cast to float8 to be a number. */
export interface Query {
  readonly text: string;
  readonly values?: unknown[];
  readonly name?: string;
  /** How long the driver waits for the answer, where not as long as its connection says. */
  readonly query_timeout?: number;
}

export interface Result {
  readonly rows: unknown[];
}

/** One connection of the driver. */
export interface Client {
  query(query: Query): Promise<Result>;
  on(event: "notification", hear: (message: { readonly channel: string; readonly payload?: string }) => void): unknown;
  on(event: "error" | "end", hear: (error?: Error) => void): unknown;
  off?(event: "error", hear: () => void): unknown;
  /** From now on it keeps no process alive, or does again. */
  unref?(): void;
  ref?(): void;
}

export interface PooledClient extends Client {
  /** With an error the connection is closed instead of used again. */
  release(error?: Error | boolean): void;
}

export interface LoneClient extends Client {
  connect(): Promise<unknown>;
  end(): Promise<void>;
}

export interface Pool {
  connect(): Promise<PooledClient>;
  end(): Promise<void>;
  on(event: "error", hear: (error: Error) => void): unknown;
  /** Told of every connection that is made. */
  on(event: "connect", hear: (client: PooledClient) => void): unknown;
}

export interface Driver {
  readonly Pool: new (options: object) => Pool;
  readonly Client: new (options: object) => LoneClient;
}

/** The driver, or an error that says how to get it. */
export async function loadDriver(): Promise<Driver> {
  try {
    // Through a variable: a literal would make bundlers look for a package that not everybody has.
    const name: string = "pg";
    const loaded = (await import(name)) as { readonly default: Driver };
    return loaded.default;
  } catch (cause) {
    throw new RathError("store.unavailable", `PostgreSQL needs the package pg, which is not installed. Run "npm install pg".`, { cause });
  }
}

/**
 * - "again": nothing was done, and the same statement may succeed (a deadlock, a serialisation failure, a server that starts).
 * - "constraint": nothing was done, since a value is there already.
 * - "refused": nothing was done, and repeating it does not help.
 * - "unknown": the connection broke, and with it the answer.
 */
export type Failure = "again" | "constraint" | "refused" | "unknown";

/** What an exception means; undefined if it is not of the driver or the network. */
export function failureOf(error: unknown): Failure | undefined {
  if (!(error instanceof Error) || RathError.is(error)) return undefined;
  const { code, severity } = error as Error & { readonly code?: unknown; readonly severity?: unknown };
  if (typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && severity !== undefined) {
    if (again.has(code)) return "again";
    if (code.startsWith("23")) return "constraint";
    return lost.test(code) ? "unknown" : "refused";
  }
  if (lacksTls(error)) return "refused";
  return typeof code === "string" || broken.test(error.message) ? "unknown" : undefined;
}

/** TLS was asked for, and the server has none: the driver says so in words alone. */
export function lacksTls(error: unknown): boolean {
  return error instanceof Error && error.message === "The server does not support SSL connections";
}

/**
 * Serialisation failure, deadlock, lock not available, a statement that took too long, a full disk, no memory, too many connections,
 * the server is starting, stopping or a standby that only reads.
 */
const again: ReadonlySet<string> = new Set(["40001", "40P01", "55P03", "57014", "53000", "53100", "53200", "53300", "57P03", "25006"]);
/** The connection or the server went away while the statement may have been at work, or committed. */
const lost = /^(?:08...|40003|57P01|57P02|57P05|58...|XX...)$/;
/** Errors of the driver itself have no code. */
const broken = /connection|timeout|socket|not queryable/i;
