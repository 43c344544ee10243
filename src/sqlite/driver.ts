/**
 * The seam between our stores and SQLite: `node:sqlite` where Node has it, else better-sqlite3.
 *
 * Both are synchronous and nearly alike; this file hides what differs and names failures. It knows nothing of our tables.
 */
import { createRequire } from "node:module";
import { RathError } from "../session/errors.ts";

export type SqlValue = null | number | string | Uint8Array;

export interface Statement<Result> {
  run(...values: SqlValue[]): { readonly changes: number | bigint };
  get(...values: SqlValue[]): Result | undefined;
  all(...values: SqlValue[]): Result[];
}

export interface Database {
  exec(sql: string): void;
  /** `Result` is what the columns of the statement are declared as; nothing checks it here, STRICT tables do. */
  prepare<Result = unknown>(sql: string): Statement<Result>;
  /** Loads compiled code; there where the file was opened with `openExtensible`. */
  loadExtension?(path: string): void;
  close(): void;
}

/** Opens a file that exists or makes it. */
export type OpenDatabase = (path: string) => Database;

type Constructor = new (path: string, options?: { readonly allowExtension: true }) => Database;

export const openDatabase: OpenDatabase = (path) => {
  const BuiltIn = builtIn();
  if (BuiltIn !== undefined) return new BuiltIn(path);
  const Installed = installed();
  try {
    return new Installed(path);
  } catch (error) {
    throw isNotBuilt(error) ? notBuilt(error) : error;
  }
};

/** The same, for a caller that loads extensions. */
export const openExtensible: OpenDatabase = (path) => {
  const BuiltIn = builtIn();
  return BuiltIn === undefined ? openDatabase(path) : new BuiltIn(path, { allowExtension: true });
};

function builtIn(): Constructor | undefined {
  // Absent from the types of Node 20. Asking by name keeps a static import of a module that Node 20 has not out of the file.
  const { emitWarning } = process;
  process.emitWarning = (() => {}) as typeof process.emitWarning;
  try {
    const found = process.getBuiltinModule?.("node:sqlite") as { DatabaseSync?: Constructor } | undefined;
    return found?.DatabaseSync;
  } finally {
    process.emitWarning = emitWarning;
  }
}

function installed(): Constructor {
  try {
    return createRequire(import.meta.url)("better-sqlite3") as Constructor;
  } catch (cause) {
    throw new RathError(
      "store.unavailable",
      `SQLite is not available: Node ${process.versions.node} has no node:sqlite, and the package better-sqlite3 is not installed. Run "npm install better-sqlite3", or use Node 22.13 or newer.`,
      { cause },
    );
  }
}

/** Its script did not run at the installation, as where scripts are off by default, or ran for another Node. */
function isNotBuilt(error: unknown): boolean {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  return code === "ERR_DLOPEN_FAILED" || /^Could not locate the bindings file/.test(String(message));
}

function notBuilt(cause: unknown): RathError {
  return new RathError(
    "store.unavailable",
    `SQLite is not available: the package better-sqlite3 is installed, but was not built for Node ${process.versions.node}. Run "npm rebuild better-sqlite3", and allow its install script if scripts are off; or use Node 22.13 or newer, which has SQLite itself.`,
    { cause },
  );
}

export type Failure = "busy" | "corrupt" | "constraint" | "readonly" | "unavailable";

/** What an exception of either driver means; undefined if it is not SQLite's. */
export function failureOf(error: unknown): Failure | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code, errcode } = error as Error & { code?: unknown; errcode?: unknown };
  if (typeof errcode === "number") return byNumber[errcode & 255] ?? "unavailable";
  if (typeof code !== "string" || !code.startsWith("SQLITE_")) return undefined;
  const [, primary = ""] = code.split("_");
  return byName[primary] ?? "unavailable";
}

// ERROR means a table, column or schema that is not what our fixed statements expect, so it is damage too.
const byName: Readonly<Record<string, Failure>> = {
  ERROR: "corrupt",
  BUSY: "busy",
  LOCKED: "busy",
  CORRUPT: "corrupt",
  READONLY: "readonly",
  CONSTRAINT: "constraint",
  FORMAT: "corrupt",
  NOTADB: "corrupt",
};
const byNumber: Readonly<Record<number, Failure>> = {
  1: "corrupt",
  5: "busy",
  6: "busy",
  8: "readonly",
  11: "corrupt",
  19: "constraint",
  24: "corrupt",
  26: "corrupt",
};
