/**
 * One open database, shared by the parts of whatever keeps its data there: a small pool, prepared statements, patience with a server
 * that is away for a moment, and errors that say what happened where, without the password.
 */
import { hash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { inspect } from "node:util";
import { RathError } from "../session/errors.ts";
import { type Address, addressOf } from "./address.ts";
import { Channel, type Hearer } from "./channel.ts";
import { failureOf, lacksTls, loadDriver, type Pool, type PooledClient, type PostgresPool, type Query, type Result } from "./driver.ts";
import { type Format, migrate } from "./format.ts";
import { SharedPool } from "./shared-pool.ts";

const longestWaitMs = 500;
const statementMs = 60_000;
/** The longest that timers of Node go, which is 24 days: the driver takes 0 for what its connection says. */
const noMs = 2 ** 31 - 1;

/** What every store on PostgreSQL may be told. */
export interface PostgresOptions {
  /** Whose data this is; "default" when left out. */
  readonly tenant?: string | undefined;
  readonly project?: string | undefined;
  /** The PostgreSQL schema that holds the tables; "openrath" when left out. Lower-case letters, digits and _, not ending in _boss. */
  readonly schema?: string | undefined;
  /** False: a database of an older format is refused instead of brought to the newest one. */
  readonly migrate?: boolean | undefined;
  /** Connections of this process at most, for a database given as a URL; 6 when left out. */
  readonly max?: number | undefined;
  /** How long the server may be away before a call fails; 10 s when left out. */
  readonly patienceMs?: number | undefined;
}

export class Connection {
  readonly tenant: string;
  readonly project: string;
  /** The PostgreSQL schema of the tables. */
  readonly schema: string;
  /** The database as errors name it. */
  readonly place: string;
  readonly #source: string | PostgresPool;
  readonly #shared: SharedPool | undefined;
  readonly #address: Address | undefined;
  readonly #options: PostgresOptions;
  readonly #format: Format;
  readonly #patienceMs: number;
  readonly #queries = new Map<string, { readonly text: string; readonly name: string }>();
  #pool: Promise<Pool> | undefined;
  #opening: Promise<void> | undefined;
  #closed = false;

  constructor(source: string | PostgresPool, options: PostgresOptions, format: Format) {
    this.tenant = options.tenant ?? "default";
    this.project = options.project ?? "default";
    this.#shared = source instanceof SharedPool ? source : undefined;
    this.#source = this.#shared?.url ?? source;
    this.#address = typeof this.#source === "string" ? addressOf(this.#source) : undefined;
    this.place = this.#address?.place ?? "The PostgreSQL database";
    this.#options = options;
    this.#format = format;
    this.schema = schemaOf(options.schema);
    this.#patienceMs = options.patienceMs ?? 10_000;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** False until the first call: a store that was never used connects to nothing. */
  get opened(): boolean {
    return this.#opening !== undefined;
  }

  /** Whether somebody can listen: a URL, or a pool that hands out connections and has one left for statements then. */
  get listens(): boolean {
    return typeof this.#source === "string" || (this.#source.connect !== undefined && !this.crowded);
  }

  /** A pool of the caller's own with room for one connection: whoever listened would keep it from everybody. */
  get crowded(): boolean {
    return typeof this.#source !== "string" && this.#source.options?.max === 1;
  }

  /** SQL with the schema's real name: tables are written `openrath.x`. */
  sql(text: string): string {
    return text.replaceAll("openrath.", `"${this.schema}".`).replaceAll("openrath_schema", `"${this.schema}"`);
  }

  /** A statement that changes nothing, or that may be executed twice: asked again while the server is away. */
  async read<Row>(sql: string, values: unknown[] = []): Promise<Row[]> {
    try {
      return (await this.#patiently(sql, values, repeatable)) as Row[];
    } catch (error) {
      // A text that PostgreSQL cannot hold, since it has a NUL character, is the name of nothing.
      if (RathError.is(error, "store.conflict") && error.details["sqlState"] === "22021") return [];
      throw error;
    }
  }

  /** A statement that must not be executed twice: asked again only when it is certain that nothing was done. */
  write<Row>(sql: string, values: unknown[] = []): Promise<Row[]> {
    return this.#patiently(sql, values, (failure) => failure === "again") as Promise<Row[]>;
  }

  /** A statement of somebody else's, as it is: neither prepared nor asked again unless nothing was done. */
  async raw(text: string, values?: unknown[]): Promise<{ readonly rows: readonly unknown[] }> {
    await this.open();
    const query = values === undefined || values.length === 0 ? { text } : { text, values };
    return {
      rows: await this.#insist(
        () => this.#send(query, true),
        (failure) => failure === "again",
      ),
    };
  }

  /** A statement that takes as long as it takes, and may be executed twice. A pool of the caller's own that has nothing but `query` has its own limits. */
  async unhurried(sql: string): Promise<void> {
    await this.open();
    await this.#insist(() => this.#sendAlone(this.sql(sql)), repeatable);
  }

  /** Connects, and brings the tables to the newest format; every other call does it too. */
  open(): Promise<void> {
    if (this.#closed) return Promise.reject(this.#closedError());
    if (this.#opening === undefined) {
      this.#opening = this.#open();
      // Whoever comes next tries again.
      this.#opening.catch(() => {
        this.#opening = undefined;
      });
    }
    return this.#opening;
  }

  async #open(): Promise<void> {
    const runs = {
      ask: (sql: string) => this.#insist(() => this.#send({ text: this.sql(sql) }), repeatable),
      change: (sql: string) => this.#insist(() => this.#sendAlone(this.sql(sql)), repeatable),
    };
    await migrate(runs, this.#format, { migrate: this.#options.migrate ?? true, place: this.place });
  }

  async #patiently(sql: string, values: unknown[], mayRepeat: (failure: string) => boolean): Promise<readonly unknown[]> {
    await this.open();
    const query = { ...this.#prepared(sql), values };
    return this.#insist(() => this.#send(query), mayRepeat);
  }

  async #insist(work: () => Promise<readonly unknown[]>, mayRepeat: (failure: string) => boolean): Promise<readonly unknown[]> {
    const until = performance.now() + this.#patienceMs;
    for (let wait = 5; ; wait = Math.min(wait * 2, longestWaitMs)) {
      if (this.#closed) throw this.#closedError();
      try {
        return await work();
      } catch (error) {
        const notSent = error instanceof NotConnected;
        const failure = notSent ? failureOf(error.cause) : failureOf(error);
        const again = notSent ? failure === "again" || failure === "unknown" : failure !== undefined && mayRepeat(failure);
        if (!again || performance.now() > until) throw notSent ? this.#unreachable(error.cause) : this.explain(error);
      }
      await sleep(wait * (0.5 + Math.random()));
    }
  }

  /** One statement on a connection of the pool. A connection on which anything but an SQL error happened is not used again,
   * nor one that failed at a text of somebody else's, which may have left it in a transaction. */
  async #send(query: Query, foreign = false): Promise<readonly unknown[]> {
    if (typeof this.#source !== "string" && this.#source.connect === undefined)
      return rowsOf(await this.#source.query(query.text, query.values && [...query.values]));
    const client = await this.#connect();
    client.on("error", ignore);
    try {
      const rows = rowsOf(await client.query(typeof this.#source === "string" ? query : unnamed(query)));
      client.off?.("error", ignore);
      client.release();
      return rows;
    } catch (error) {
      const failure = failureOf(error);
      const broken = foreign || failure === "unknown" || failure === undefined;
      if (!broken) client.off?.("error", ignore);
      client.release(broken ? (error as Error) : undefined);
      throw error;
    }
  }

  /** Statements on a connection of their own, without a limit of time: those of the pool are meant for what somebody waits for. */
  async #sendAlone(text: string): Promise<readonly unknown[]> {
    if (typeof this.#source !== "string" && this.#source.connect === undefined) return this.#send({ text });
    const { client, close } = await this.#lone();
    client.on("error", ignore);
    try {
      await client.query({ text: "SET statement_timeout = 0" });
      return rowsOf(await client.query({ text, query_timeout: noMs }));
    } finally {
      await close().catch(() => {});
    }
  }

  async #connect(): Promise<PooledClient> {
    if (typeof this.#source !== "string") return this.#borrow();
    this.#pool ??= this.#shared?.join(() => this.#makePool()) ?? this.#makePool();
    try {
      const pool = await this.#pool;
      return await pool.connect();
    } catch (error) {
      if (RathError.is(error)) await this.#leavePool();
      throw RathError.is(error) ? error : new NotConnected(error);
    }
  }

  /** From the caller's pool. Others may keep all it has: then it is said, and a connection that comes too late is given back. */
  async #borrow(): Promise<PooledClient> {
    const asked = (this.#source as Required<PostgresPool>).connect() as Promise<PooledClient>;
    const waiting = new AbortController();
    try {
      const client = await Promise.race([asked, sleep(this.#patienceMs, undefined, { signal: waiting.signal })]);
      if (client !== undefined) return client;
    } catch (error) {
      throw new NotConnected(error);
    } finally {
      waiting.abort();
    }
    asked.then(
      (client) => client.release(),
      () => {},
    );
    throw new RathError(
      "store.unavailable",
      `The pool that was given had no free connection for ${this.#patienceMs} ms. Nothing was stored. Give it more room (max): a store that is watched keeps one connection to listen on.`,
      { details: { place: this.place }, retryable: true },
    );
  }

  async #makePool(): Promise<Pool> {
    const { Pool } = await loadDriver();
    const pool = new Pool({
      ...this.#clientOptions(),
      max: this.#shared?.max ?? this.#options.max ?? 6,
      idleTimeoutMillis: 30_000,
      allowExitOnIdle: true,
      statement_timeout: statementMs,
      // A network that swallows the answer must not hold a caller for ever.
      query_timeout: statementMs + 5_000,
    });
    // An idle connection that breaks is dropped by the pool; the next statement opens another.
    pool.on("error", () => {});
    // One that breaks while it is in use, between two statements, would end the process; whoever sends the next statement is told.
    pool.on("connect", (client) => client.on("error", () => {}));
    return pool;
  }

  #clientOptions(): object {
    return {
      connectionString: this.#source,
      application_name: "openrath",
      connectionTimeoutMillis: Math.max(1000, this.#patienceMs),
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
    };
  }

  /** Hears what is told on a channel, as `openrath.x`, until it is disposed of. Those of one shared pool listen on one connection. */
  listen(channel: string, hearer: Omit<Hearer, "connect">): Promise<AsyncDisposable> {
    const name = this.sql(channel);
    const connect = async (): ReturnType<Hearer["connect"]> => {
      await this.open();
      return this.#lone().catch((error: unknown) => {
        throw error instanceof NotConnected ? this.#unreachable(error.cause) : error;
      });
    };
    return (this.#shared?.channel(name) ?? new Channel(name)).join({ ...hearer, connect });
  }

  /** A connection of its own, outside the pool. */
  async #lone(): ReturnType<Hearer["connect"]> {
    if (typeof this.#source !== "string") {
      const client = await this.#borrow();
      return { client, close: async () => client.release(true) };
    }
    const { Client: Lone } = await loadDriver();
    const client = new Lone(this.#clientOptions());
    client.on("error", ignore);
    try {
      await client.connect();
    } catch (error) {
      throw new NotConnected(error);
    }
    return { client, close: () => client.end() };
  }

  #prepared(sql: string): { readonly text: string; readonly name: string } {
    let query = this.#queries.get(sql);
    if (query === undefined) {
      const text = this.sql(sql);
      query = { text, name: `openrath_${hash("sha1", text).slice(0, 16)}` };
      this.#queries.set(sql, query);
    }
    return query;
  }

  /** What an exception means for whoever called. */
  explain(error: unknown): unknown {
    const failure = failureOf(error);
    if (failure === undefined) return error;
    const said = this.#safe((error as Error).message);
    const cause = this.#safeCause(error);
    const details = { place: this.place, ...(sqlState(error) === undefined ? {} : { sqlState: sqlState(error) }) };
    switch (failure) {
      case "again":
        return new RathError("store.unavailable", `${this.place} is busy: ${said}. Nothing was stored. Try again.`, {
          cause,
          details,
          retryable: true,
        });
      case "constraint":
      case "refused":
        if (sqlState(error) === "42501")
          return new RathError("store.unavailable", `${this.place} does not allow this: ${said}. ${notAllowed}`, { cause, details });
        return sqlState(error)?.startsWith("42") || sqlState(error)?.startsWith("3F")
          ? new RathError("store.corrupt", `${this.place} has not the tables it should have: ${said}. Nothing was changed.`, {
              cause,
              details,
            })
          : new RathError("store.conflict", `${this.place} refused a value: ${said}. Nothing of this write was stored.`, {
              cause,
              details,
            });
      case "unknown":
        return new RathError(
          "store.unavailable",
          `${this.place} did not answer: ${said}. If this was an append, its outcome is unknown: read again before repeating it.`,
          { cause, details, retryable: true },
        );
    }
  }

  #unreachable(error: unknown): RathError {
    const said = this.#safe(messageOf(error));
    const refused = failureOf(error) === "refused";
    const next = refused
      ? lacksTls(error)
        ? "Its URL asks for TLS (sslmode): turn that on in the server, or leave it out of the URL where the network is trusted."
        : "Check the user, the password and the database in its URL."
      : "Check that the server runs and that its URL is right.";
    return new RathError("store.unavailable", `${this.place} cannot be reached: ${said}. Nothing was stored. ${next}`, {
      cause: this.#safeCause(error),
      details: { place: this.place },
      retryable: !refused,
    });
  }

  #closedError(): RathError {
    return new RathError("store.closed", `The store ${this.place} is closed. Open another one with ${this.#format.opener}.`);
  }

  #safe(text: string): string {
    return this.#address?.secrets.reduce((safe, secret) => safe.replaceAll(secret, "***"), text) ?? text;
  }

  /** Left out where it holds a secret. */
  #safeCause(error: unknown): unknown {
    const shown = inspect(error, { depth: 3, showHidden: true });
    return this.#address?.secrets.some((secret) => shown.includes(secret)) ? undefined : error;
  }

  /** A pool of the caller's own stays open. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#queries.clear();
    await this.#leavePool();
  }

  async #leavePool(): Promise<void> {
    const pool = this.#pool;
    this.#pool = undefined;
    if (pool === undefined) return;
    await (this.#shared === undefined ? pool.then((open) => open.end()) : this.#shared.leave()).catch(() => {});
  }
}

const notAllowed =
  'Give the user of its URL the rights on the schema, or let somebody who has them run "openrath db migrate". Nothing was stored.';

/** The statement never left this process. */
class NotConnected extends Error {
  constructor(cause: unknown) {
    super("not connected", { cause });
  }
}

function schemaOf(schema = "openrath"): string {
  // The wake-ups of a schema x are in x_boss.
  if (/^[a-z_][a-z0-9_]{0,39}$/.test(schema) && !schema.startsWith("pg_") && !schema.endsWith("_boss")) return schema;
  throw new RathError(
    "value.unsupported",
    `The schema ${JSON.stringify(schema)} cannot be used: give lower-case letters, digits and _, at most 40, not beginning with a digit or pg_, nor ending in _boss.`,
    { details: { field: "schema" } },
  );
}

/** Of what changes nothing, or may be executed twice. */
function repeatable(failure: string): boolean {
  return failure === "again" || failure === "unknown";
}

/** Whoever sent a statement is told by its answer. */
function ignore(): void {}

/** Connections of the caller's pool may be anybody's, and so may names that are prepared on them. */
function unnamed({ text, values }: Query): Query {
  return values === undefined ? { text } : { text, values };
}

/** Several statements give several results; the last is the one that is asked for. */
function rowsOf(result: unknown): readonly unknown[] {
  const last = Array.isArray(result) ? (result.at(-1) as unknown) : result;
  // Some drivers give the rows themselves.
  return (last as Partial<Result> | undefined)?.rows ?? (Array.isArray(result) ? result : []);
}

function sqlState(error: unknown): string | undefined {
  const { code } = error as { readonly code?: unknown };
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/** Node reports a host with several addresses as an AggregateError without a message. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join("; ");
  return error instanceof Error ? error.message || String((error as NodeJS.ErrnoException).code) : String(error);
}
