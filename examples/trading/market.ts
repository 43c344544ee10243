/**
 * The exchange that stands for a real one: one SQLite file for each trial. A change happens once for its key, whole or not at all, and
 * says what it changed.
 */
import { readFileSync } from "node:fs";
import Database from "better-sqlite3";

export type Ledger = Database.Database;

/** Opens a file; a new one is as the day begins. */
export function openLedger(file: string): Ledger {
  const db = new Database(file);
  const isNew = db.prepare("SELECT 1 FROM sqlite_master").get() === undefined;
  return isNew ? db.exec(readFileSync(new URL("market.sql", import.meta.url), "utf8")) : db;
}

/** Changes an account and gives it before and after. Under a key that was used it changes nothing and gives what it gave then. */
export function change(db: Ledger, key: string, client: string, sql: string, ...values: unknown[]): unknown {
  const account = db.prepare("SELECT account FROM accounts WHERE client = ?").pluck();
  const delta = db.prepare("SELECT json_object('before', json(before), 'after', json(after)) FROM effects WHERE key = ?").pluck();
  const once = db.transaction(() => {
    if (delta.get(key) !== undefined) return;
    const before = account.get(client);
    if (db.prepare(sql).run(...values).changes === 0) throw new Error("Nothing fits: look the account up again.");
    db.prepare("INSERT INTO effects VALUES (?, ?, ?)").run(key, before, account.get(client));
  });
  once.immediate();
  return JSON.parse(delta.get(key) as string);
}
