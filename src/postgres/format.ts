/** The tables of one family of data in a database (sessions, memories): numbered steps from nothing to the newest format. */
import { RathError } from "../session/errors.ts";

export interface Format {
  /** Whose tables these are; each family has a number of its own in the table `formats`. */
  readonly family: "store" | "memory" | "access";
  /** Released steps are never changed; a new format adds one. Tables are named `openrath.x`, whatever the schema is called. */
  readonly steps: readonly string[];
  /** The function that opens such a database, for messages. */
  readonly opener: string;
}

/** Runs one or several statements without values. */
type Run = (sql: string) => Promise<readonly unknown[]>;

/** Which format there is is asked like anything else; changing it takes as long as there are rows. */
interface Runs {
  readonly ask: Run;
  readonly change: Run;
}

export interface MigrateOptions {
  /** False: a database of an older format is refused instead of changed. */
  readonly migrate: boolean;
  /** The database as errors name it. */
  readonly place: string;
}

/**
 * Brings a database to the newest format. The steps are one string of statements, which PostgreSQL executes as one transaction, so a
 * pool that has nothing but `query` can do it. Who comes at the same time waits for the lock and then finds everything done.
 */
export async function migrate(runs: Runs, { family, steps }: Format, { migrate: allowed, place }: MigrateOptions): Promise<void> {
  const version = await versionOf(runs.ask, family);
  const details = { place, family, version, known: steps.length };
  if (version > steps.length) {
    const message = `${place} has format ${version} of ${family}; this version of openrath knows formats up to ${steps.length}. Nothing was changed. Update openrath to open it.`;
    throw new RathError("store.newer-format", message, { details });
  }
  if (version === steps.length) return;
  if (!allowed) {
    const message = `${place} has format ${version} of ${family}; this version of openrath needs format ${steps.length}. Nothing was changed. Run "openrath db migrate".`;
    throw new RathError("store.older-format", message, { details });
  }
  await runs.change([lock, tables, ...steps.map((step, index) => guarded(family, index + 1, step))].join(";\n"));
  // Somebody with a newer version of this package may have been faster.
  if ((await versionOf(runs.ask, family)) > steps.length) await migrate(runs, { family, steps, opener: "" }, { migrate: false, place });
}

const lock = "SELECT pg_advisory_xact_lock(hashtextextended('openrath.formats', 0))";
// Who may not make schemas may use one that somebody else made for him.
const tables = `DO $schema$ BEGIN
IF to_regnamespace('openrath_schema') IS NULL THEN CREATE SCHEMA IF NOT EXISTS openrath_schema; END IF;
END $schema$;
CREATE TABLE IF NOT EXISTS openrath.formats (family text PRIMARY KEY, version integer NOT NULL)`;

/** A step that does nothing when it was done before. The number is asked for under the lock. */
function guarded(family: string, version: number, step: string): string {
  return `DO $guard$ BEGIN
IF coalesce((SELECT version FROM openrath.formats WHERE family = '${family}'), 0) < ${version} THEN
EXECUTE $step$${step}$step$;
INSERT INTO openrath.formats (family, version) VALUES ('${family}', ${version}) ON CONFLICT (family) DO UPDATE SET version = ${version};
END IF;
END $guard$`;
}

/** 0 for a database without tables of this family. */
async function versionOf(run: Run, family: string): Promise<number> {
  const [known] = (await run("SELECT to_regclass('openrath.formats') IS NOT NULL AS known")) as { readonly known: boolean }[];
  if (known?.known !== true) return 0;
  const rows = (await run(`SELECT version FROM openrath.formats WHERE family = '${family}'`)) as { readonly version: number }[];
  return rows[0]?.version ?? 0;
}
