/**
 * One open database file, shared by the parts of whatever keeps its data there: prepared statements, transactions, patience with other
 * processes, and errors that say what happened to which file.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { RathError } from "../session/errors.ts";
import { type Database, failureOf, type OpenDatabase, type Statement } from "./driver.ts";
import type { Format } from "./format.ts";
import { corrupt, extendLog, openFile } from "./open.ts";

const longestWaitMs = 50;

export interface ConnectionOptions {
  readonly path: string;
  readonly format: Format;
  readonly tenant: string;
  readonly project: string;
  readonly clock: () => number;
  readonly open: OpenDatabase;
  /** How long other processes may hold the file before a call fails. */
  readonly patienceMs: number;
}

export class Connection {
  readonly path: string;
  readonly tenant: string;
  readonly project: string;
  readonly clock: () => number;
  readonly #format: Format;
  readonly #open: OpenDatabase;
  readonly #patienceMs: number;
  readonly #statements = new Map<string, Statement<unknown>>();
  #database: Database | undefined;
  #durable = true;
  #extended = false;
  #closed = false;

  constructor(options: ConnectionOptions) {
    this.path = options.path;
    this.tenant = options.tenant;
    this.project = options.project;
    this.clock = options.clock;
    this.#format = options.format;
    this.#open = options.open;
    this.#patienceMs = options.patienceMs;
  }

  /** False until the first call; a store that was never used makes no file. */
  get opened(): boolean {
    return this.#database !== undefined;
  }

  get closed(): boolean {
    return this.#closed;
  }

  get database(): Database {
    if (this.#closed)
      throw new RathError("store.closed", `The store ${this.path} is closed. Open another one with ${this.#format.opener}.`);
    this.#database ??= openFile(this.path, this.#open, this.#format);
    return this.#database;
  }

  /** A statement prepared once and kept. */
  statement<Result = unknown>(sql: string): Statement<Result> {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement as Statement<Result>;
  }

  /** Another after every commit to the file, by this connection or any other: asking for it costs less than asking a table. */
  version(): string {
    const by = this.statement<{ data_version: number }>("PRAGMA data_version").get();
    return `${by?.data_version}.${this.statement<{ own: number }>("SELECT total_changes() AS own").get()?.own}`;
  }

  /** Does synchronous work, again and again while other processes hold the file. Whatever fails comes out as a RathError. */
  async patiently<T>(work: () => T): Promise<T> {
    const until = performance.now() + this.#patienceMs;
    for (let wait = 1; ; wait = Math.min(wait * 2, longestWaitMs)) {
      try {
        void this.database;
        return work();
      } catch (error) {
        if (failureOf(error) !== "busy" || performance.now() > until) throw this.explain(error);
      }
      await sleep(wait * (0.5 + Math.random()));
    }
  }

  /**
   * All or nothing. Not durable means that the commit is not synced by itself: it survives the death of the process, and a
   * power cut once any later commit is synced, since the log is one sequence.
   */
  transaction<T>(durable: boolean, work: () => T): T {
    this.durably(durable);
    this.statement("BEGIN IMMEDIATE").run();
    try {
      const result = work();
      this.statement("COMMIT").run();
      return result;
    } catch (error) {
      try {
        this.statement("ROLLBACK").run();
      } catch {
        // After a full disk or an I/O error SQLite has rolled back by itself and refuses a second time.
      }
      throw error;
    }
  }

  /** Whether the next commit is synced. */
  durably(durable: boolean): void {
    if (durable === this.#durable) return;
    this.database.exec(`PRAGMA synchronous = ${durable ? "FULL" : "NORMAL"}`);
    this.#durable = durable;
  }

  /** Prepares the file for appends, at the first of them. */
  extend(): void {
    if (this.#extended) return;
    extendLog(this.database, this.path);
    this.#extended = true;
    this.#durable = true;
  }

  /** Moves what is in the write-ahead log to the file and empties the log; throws as long as another process is using it. */
  emptyLog(): void {
    const row = this.database.prepare<{ busy: number }>("PRAGMA wal_checkpoint(TRUNCATE)").get();
    this.#extended = false;
    if (row?.busy === 1) throw Object.assign(new Error("another process is reading"), { code: "SQLITE_BUSY", errcode: 5 });
  }

  /** What an exception means for whoever called. */
  explain(error: unknown): unknown {
    switch (failureOf(error)) {
      case undefined:
        return error;
      case "corrupt":
        return corrupt(this.path, (error as Error).message, error);
      case "busy":
        return new RathError(
          "store.unavailable",
          `${this.path} is held by other processes for more than ${this.#patienceMs / 1000} s. Try again.`,
          { cause: error, retryable: true },
        );
      case "constraint":
        return new RathError(
          "store.conflict",
          `${this.path} refused a value: ${(error as Error).message}. Nothing of this write was stored.`,
          { cause: error },
        );
      case "readonly":
        return new RathError(
          "store.unavailable",
          `${this.path} cannot be written. Nothing was stored. Give this user the right to write to the file and to its folder.`,
          { cause: error, details: { path: this.path } },
        );
      case "unavailable":
        return new RathError(
          "store.unavailable",
          `${this.path} failed: ${(error as Error).message}. If this was an append, its outcome is unknown: read again before repeating it.`,
          { cause: error, retryable: true },
        );
    }
  }

  close(): void {
    this.#closed = true;
    this.#statements.clear();
    this.#database?.close();
    this.#database = undefined;
  }
}
