/**
 * Opening a database file: making it, refusing what is not ours, setting it up.
 *
 * A new file is built beside its place and linked into it complete, so a file found empty or without our mark was damaged
 * or is somebody else's, however many processes start at once. Nothing is written to a file before it is known to be ours.
 */
import { randomBytes } from "node:crypto";
import { closeSync, existsSync, fsyncSync, linkSync, mkdirSync, openSync, readSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { RathError } from "../session/errors.ts";
import { refusalOf } from "../session/thrown.ts";
import { type Database, failureOf, type OpenDatabase } from "./driver.ts";
import { type Format, migrate, pragma } from "./format.ts";

/** Checking a file of this size takes about as long as opening it; in larger ones the checksums of what is read have to do. */
const checkedBytes = 4 * 1024 * 1024;
/** One page more than SQLite's automatic checkpoint waits for, so that the log is overwritten in place from then on. */
const walPages = 550;
const pageBytes = 4096;

/** An open, checked database of the newest format in WAL mode. Throws the driver's error while other processes hold it. */
export function openFile(path: string, open: OpenDatabase, format: Format): Database {
  if (!isThere(path)) makeFile(path, open, format);
  refuseForeign(path);
  const database = open(path);
  try {
    database.exec("PRAGMA busy_timeout = 10");
    if (pragma(database, "application_id") !== format.applicationId) throw corrupt(path, "it is an SQLite database of another program");
    // Erased data must not stay in the free parts of pages, so what is freed is overwritten from the beginning.
    database.exec(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = OFF; PRAGMA cell_size_check = ON; PRAGMA secure_delete = ON",
    );
    migrate(database, path, format);
    if (format.cache !== true && statSync(path).size <= checkedBytes) checkWhole(database, path);
    return database;
  } catch (error) {
    database.close();
    throw failureOf(error) === "corrupt" ? corrupt(path, (error as Error).message, error) : error;
  }
}

/** A file that this user may not even look for is not one that is missing. */
function isThere(path: string): boolean {
  try {
    statSync(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EACCES") throw notAllowed(path, error);
    return false;
  }
}

function notAllowed(path: string, cause: unknown): RathError {
  return new RathError(
    "store.unavailable",
    `${path} cannot be opened: ${refusalOf(cause)}. Open it as the user whose it is, or name another store.`,
    { cause, details: { path } },
  );
}

/** What every refusal of a damaged file says: what, which file, what next. */
export function corrupt(path: string, what: string, cause?: unknown): RathError {
  return new RathError(
    "store.corrupt",
    `${path} cannot be used: ${what}. Nothing was changed. Restore it from a backup, or move it (with its -wal file) away to start with an empty store.`,
    {
      cause,
      details: { path },
    },
  );
}

/**
 * Makes the write-ahead log as long as it will get. While it grows, every sync also has to write the new length, which
 * doubles the time of a commit. SQLite drops the log at the last close, so this is done once per opening, before the first append.
 */
export function extendLog(database: Database, path: string): void {
  if (existsSync(`${path}-wal`) && statSync(`${path}-wal`).size >= walPages * pageBytes) return;
  // No checkpoint may run while syncing is off: it would let the log be overwritten before the file is safe on disk.
  database.exec("PRAGMA wal_autocheckpoint = 0; PRAGMA synchronous = OFF");
  try {
    const tick = database.prepare("UPDATE meta SET value = value + 1 WHERE name = 'tick'");
    for (let i = 0; i < walPages; i++) tick.run();
  } catch (error) {
    // Another process is writing. What is missing is speed, not safety.
    if (failureOf(error) !== "busy") throw error;
  } finally {
    database.exec("PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 500; PRAGMA wal_checkpoint(PASSIVE)");
  }
}

/** What the system refuses is said with the path and what to do. */
function makeFile(path: string, open: OpenDatabase, format: Format): void {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    createFile(path, open, format);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
    throw new RathError("store.unavailable", `${path} cannot be made: ${refusalOf(error)}. Name a store in a folder that can be written.`, {
      cause: error,
      details: { path },
    });
  }
}

function createFile(path: string, open: OpenDatabase, format: Format): void {
  if ((statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0) {
    // Somebody else may have made both since it was missed; the file comes first.
    if (isThere(path)) return;
    throw corrupt(path, "the file is missing, but its write-ahead log is still there");
  }
  const draft = `${path}.${randomBytes(6).toString("hex")}.new`;
  closeSync(openSync(draft, "wx", 0o600));
  try {
    const database = open(draft);
    try {
      // Nobody sees the draft before it is synced as a whole below.
      database.exec(`PRAGMA page_size = ${pageBytes}; PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF`);
      migrate(database, path, format);
      database.exec("PRAGMA journal_mode = WAL");
    } finally {
      database.close();
    }
    syncPath(draft);
    moveIfFree(draft, path);
    syncPath(dirname(path));
  } finally {
    for (const suffix of ["", "-wal", "-shm", "-journal"]) rmSync(draft + suffix, { force: true });
  }
}

function moveIfFree(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return;
    // File systems without hard links: the small race of two first openings is all that is lost.
    if (!existsSync(to)) renameSync(from, to);
  }
}

/** What was written there is on disk. */
export function syncPath(path: string): void {
  // Windows cannot open a folder and needs no sync of it.
  if (process.platform === "win32") return;
  const file = openSync(path, "r");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Refuses what is no SQLite database before SQLite sees it. */
export function refuseForeign(path: string): void {
  const magic = Buffer.alloc(16);
  const file = openToRead(path);
  try {
    const length = readSync(file, magic, 0, 16, 0);
    if (length === 0) throw corrupt(path, "it is empty, which no file made by openrath ever is");
    if (length < 16 || magic.toString("latin1") !== "SQLite format 3\0") throw corrupt(path, "it is not an SQLite database");
  } finally {
    closeSync(file);
  }
}

function openToRead(path: string): number {
  try {
    return openSync(path, "r");
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === "EACCES" ? notAllowed(path, error) : error;
  }
}

function checkWhole(database: Database, path: string): void {
  const found = database.prepare<{ integrity_check: string }>("PRAGMA integrity_check(1)").get()?.integrity_check;
  if (found !== "ok") throw corrupt(path, `it is damaged (${found})`);
}
