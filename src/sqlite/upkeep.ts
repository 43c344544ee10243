/** Looking after a database file from outside: which format it has, whether it is sound, a copy of it. Nothing here knows a table. */
import { closeSync, existsSync, mkdirSync, openSync, rmSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { RathError } from "../session/errors.ts";
import { refusalOf } from "../session/thrown.ts";
import { Connection } from "./connection.ts";
import { type Database, failureOf, openDatabase } from "./driver.ts";
import { type Format, formatOf, pragma } from "./format.ts";
import { corrupt, refuseForeign, syncPath } from "./open.ts";

/** A file of ours, and what can be done with it while others use it. */
export interface DatabaseFile {
  readonly path: string;
  /** The format that this version of the package reads and writes. */
  readonly newest: number;
  /** The format it has; undefined while there is no file. Changes nothing; a newer format than ours is refused. */
  format(): number | undefined;
  bytes(): number;
  /** Brings it to the newest format. A newer one is refused. */
  migrate(): Promise<void>;
  /** What SQLite finds wrong with it; nothing when it is sound. */
  problems(): readonly string[];
  /** How many there are of what. */
  counts(): Readonly<Record<string, number>>;
  /** Writes what it holds now to a new file that only its owner can read, on disk when this returns. Never overwrites one. */
  copyTo(path: string): void;
}

/** `counted` has a query for each noun. */
export function databaseFile(at: string, format: Format, counted: Readonly<Record<string, string>>): DatabaseFile {
  const path = resolve(at);
  const read = <T>(work: (database: Database) => T): T => reading(path, format, work);
  return {
    path,
    newest: format.steps.length,
    format: () => (existsSync(path) ? read((database) => formatOf(database, path, format.steps)) : undefined),
    bytes: () => [path, `${path}-wal`].reduce((sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0), 0),
    migrate: async () => {
      const none = { tenant: "default", project: "default", clock: Date.now };
      const connection = new Connection({ ...none, path, format, open: openDatabase, patienceMs: 10_000 });
      try {
        await connection.patiently(() => {});
      } finally {
        connection.close();
      }
    },
    problems: () =>
      read((database) =>
        database
          .prepare<{ integrity_check: string }>("PRAGMA integrity_check")
          .all()
          .map((row) => row.integrity_check)
          .filter((found) => found !== "ok"),
      ),
    counts: () =>
      read((database) =>
        Object.fromEntries(
          Object.entries(counted).map(([noun, query]) => [noun, database.prepare<{ number: number }>(query).get()?.number ?? 0]),
        ),
      ),
    copyTo: (to) => read((database) => copy(database, path, resolve(to))),
  };
}

/** Opens it, without changing what it holds. */
function reading<T>(path: string, format: Format, work: (database: Database) => T): T {
  refuseForeign(path);
  const database = openDatabase(path);
  try {
    database.exec("PRAGMA busy_timeout = 10000; PRAGMA query_only = ON");
    if (pragma(database, "application_id") !== format.applicationId) throw corrupt(path, "it is an SQLite database of another program");
    return work(database);
  } catch (error) {
    throw failureOf(error) === "corrupt" ? corrupt(path, (error as Error).message, error) : error;
  } finally {
    database.close();
  }
}

function copy(database: Database, from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
  // Made here, so that nobody else can ever read it; SQLite writes into a file that is empty.
  closeSync(openSync(to, "wx", 0o600));
  try {
    // This changes nothing but the new file; SQLite takes it for writing all the same.
    database.exec("PRAGMA query_only = OFF");
    database.prepare("VACUUM INTO ?").run(to);
    syncPath(to);
    syncPath(dirname(to));
  } catch (cause) {
    rmSync(to, { force: true });
    throw new RathError("store.unavailable", `${from} could not be copied to ${to}: ${refusalOf(cause)}. No copy was kept.`, {
      cause,
    });
  }
}
