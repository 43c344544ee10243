/** What a database file of ours is: its mark, and the numbered steps from an empty file to the newest format. */
import { RathError } from "../session/errors.ts";
import type { Database } from "./driver.ts";

export interface Format {
  /** How a file says whose it is. */
  readonly applicationId: number;
  /** Released steps are never changed; a new format adds one. `Connection.extend` needs a table `meta` with a row 'tick'. */
  readonly steps: readonly string[];
  /** The function that opens such a file, for messages. */
  readonly opener: string;
  /** A cache is not checked as a whole when it is opened: it is made again when what is read of it is damaged. */
  readonly cache?: true | undefined;
}

/** Brings an open database to the newest format, in one transaction. A file of a newer version of this package is refused. */
export function migrate(database: Database, path: string, { applicationId, steps }: Format): void {
  if (formatOf(database, path, steps) === steps.length) return;
  database.exec("BEGIN IMMEDIATE");
  try {
    // Asked again under the lock: another process may have done it meanwhile.
    for (const step of steps.slice(formatOf(database, path, steps))) database.exec(step);
    database.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${steps.length}; COMMIT`);
  } catch (error) {
    database.exec("ROLLBACK");
    throw error;
  }
}

/** The format a file has; one of a newer version of this package is refused. */
export function formatOf(database: Database, path: string, steps: readonly string[]): number {
  const version = pragma(database, "user_version");
  if (version <= steps.length) return version;
  throw new RathError(
    "store.newer-format",
    `${path} has format ${version}; this version of openrath knows formats up to ${steps.length}. Nothing was changed. Update openrath to open it.`,
    {
      details: { path, version, known: steps.length },
    },
  );
}

/** The value of a pragma that is a number. */
export function pragma(database: Database, name: "application_id" | "user_version" | "synchronous" | "data_version"): number {
  return database.prepare<Record<string, number>>(`PRAGMA ${name}`).get()?.[name] ?? 0;
}
