/** The desk's database: one SQLite file. A change happens once for its key, whole or not at all, and says what it changed. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Database } from "better-sqlite3";

export type Ledger = ReturnType<typeof openLedger>;
type Values = readonly (string | number)[];

/** node:sqlite where Node has it, else better-sqlite3: for what is used here they are alike. */
type Driver = new (file: string) => Pick<Database, "exec" | "prepare" | "close">;
const builtIn = process.getBuiltinModule?.("node:sqlite") as { readonly DatabaseSync: Driver } | undefined;
const Driver = builtIn?.DatabaseSync ?? (createRequire(import.meta.url)("better-sqlite3") as Driver);

/** Opens a file; a new one is as the day begins. `onChange` is called when a change is on disk. */
export function openLedger(file: string, onChange = (): void => {}) {
  const db = new Driver(file);
  const rows = (sql: string, ...values: Values) => db.prepare(sql).all(...values) as Record<string, string>[];
  if (rows("SELECT 1 FROM sqlite_master").length === 0) db.exec(readFileSync(new URL("market.sql", import.meta.url), "utf8"));
  /** A client's account as JSON text; null when there is no such client. */
  const account = (client: string) => rows("SELECT account FROM accounts WHERE client = ?", client)[0]?.["account"] ?? "null";

  /** Changes an account and gives it before and after. Under a key that was used it changes nothing and gives what it gave then. */
  function change(key: string, client: string, sql: string, ...values: Values) {
    db.exec("BEGIN IMMEDIATE");
    try {
      if (rows("SELECT key FROM effects WHERE key = ?", key).length === 0) {
        const before = account(client);
        if (Number(db.prepare(sql).run(...values).changes) === 0) throw new Error("Nothing fits: look the account up again.");
        db.prepare("INSERT INTO effects VALUES (?, ?, ?)").run(key, before, account(client));
      }
      db.exec("COMMIT");
    } catch (error) {
      db.exec("ROLLBACK");
      throw error;
    }
    onChange();
    const [done] = rows("SELECT json_object('before', json(before), 'after', json(after)) AS delta FROM effects WHERE key = ?", key);
    return JSON.parse(done?.["delta"] ?? "null");
  }
  return { rows, account, change, close: () => void db.close() };
}
