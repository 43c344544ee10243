/**
 * Keys and the access log in one SQLite file: beside the store of a single machine. Any number of processes may have it open; it is made
 * (0600, its folder 0700) by the first write, and before, there is no key.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { setImmediate } from "node:timers/promises";
import { Connection } from "../sqlite/connection.ts";
import { openDatabase, type SqlValue } from "../sqlite/driver.ts";
import { keptIn } from "../sqlite/kept.ts";
import type { AccessEntry, AccessStore, EntryQuery, KeyQuery, NotedEntry, Scope, StoredKey } from "./access.ts";
import { keyConflict } from "./key.ts";
import { type EntryRow, entryColumns, entryOf, type KeyRow, keyColumns, keyOf, keyValues } from "./rows.ts";
import { accessFormat } from "./sqlite-format.ts";

const pageRows = 100;

export function sqliteAccess(path: string): AccessStore {
  const none = { tenant: "default", project: "default", clock: Date.now };
  const connection = new Connection({ ...none, path: resolve(path), format: accessFormat, open: openDatabase, patienceMs: 10_000 });
  /** Nothing was ever written. A log without its file is damage, which opening it reports. */
  const isAbsent = (): boolean =>
    !connection.closed && !connection.opened && !existsSync(connection.path) && !existsSync(`${connection.path}-wal`);
  const written = <T>(durable: boolean, work: () => T): Promise<T> => connection.patiently(() => connection.transaction(durable, work));
  const access: AccessStore = {
    addKey: (key) => written(true, () => addKey(connection, key)),
    keys: (query) => keyPages(connection, isAbsent, query),
    key: async (id) => (isAbsent() ? undefined : connection.patiently(() => keyAt(connection, id))),
    endKey: async (id, end) => !isAbsent() && written(true, () => endKey(connection, id, end)),
    used: async (uses) => {
      if (!isAbsent() && uses.length > 0) await written(false, () => setUsed(connection, uses));
    },
    note: async (entries) => {
      if (entries.length > 0) await written(true, () => addEntries(connection, entries));
    },
    entries: (query) => newestEntries(connection, isAbsent, query),
    trim: async (keep) => {
      // A page each, so that nobody waits for long.
      const inPages = async (remove: () => number): Promise<void> => {
        while ((await written(false, remove)) === trimmedRows) await setImmediate();
      };
      if (isAbsent()) return;
      await inPages(() => removeBefore(connection, keep.since));
      for (const scope of await connection.patiently(() => scopesOf(connection)))
        await inPages(() => removeAbove(connection, scope, keep.most));
    },
    [Symbol.asyncDispose]: async () => connection.close(),
  };
  keptIn(access, connection.path);
  return access;
}

function addKey(connection: Connection, key: StoredKey): void {
  if (keyAt(connection, key.id) !== undefined) throw keyConflict(key.id);
  const values = keyValues(key);
  connection.statement(`INSERT INTO keys (${keyColumns}) VALUES (${values.map(() => "?").join(", ")})`).run(...values);
}

function keyAt(connection: Connection, id: string): StoredKey | undefined {
  const row = connection.statement<KeyRow>("SELECT * FROM keys WHERE id = ?").get(id);
  return row && keyOf(row);
}

async function* keyPages(connection: Connection, isAbsent: () => boolean, { after, ...scope }: KeyQuery): AsyncGenerator<StoredKey, void> {
  if (isAbsent()) return;
  const { where, values } = within(scope);
  const sql = `SELECT * FROM keys WHERE ${[...where, "no > ?"].join(" AND ")} ORDER BY no LIMIT ${pageRows}`;
  let last: number | undefined = await connection.patiently(() =>
    after === undefined ? 0 : connection.statement<{ readonly no: number }>("SELECT no FROM keys WHERE id = ?").get(after)?.no,
  );
  while (last !== undefined) {
    const from: number = last;
    const rows = await connection.patiently(() => connection.statement<KeyRow>(sql).all(...values, from));
    yield* rows.map(keyOf);
    last = rows.length < pageRows ? undefined : Number(rows.at(-1)?.no);
  }
}

interface Ends {
  readonly revoked?: string | null | undefined;
  readonly expires?: string | null | undefined;
}

/** Of two ends the earlier stays: times of one form are compared as texts. */
function endKey(connection: Connection, id: string, { revoked = null, expires = null }: Ends): boolean {
  const earlier = (column: string): string => `${column} = min(coalesce(${column}, ?), coalesce(?, ${column}))`;
  const update = connection.statement(`UPDATE keys SET ${earlier("revoked")}, ${earlier("expires")} WHERE id = ?`);
  return Number(update.run(revoked, revoked, expires, expires, id).changes) > 0;
}

function setUsed(connection: Connection, uses: readonly { readonly id: string; readonly at: string }[]): void {
  const update = connection.statement("UPDATE keys SET used = max(coalesce(used, ''), ?) WHERE id = ?");
  for (const { id, at } of uses) update.run(at, id);
}

function addEntries(connection: Connection, entries: readonly AccessEntry[]): void {
  const insert = connection.statement(`INSERT INTO entries (${entryColumns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  for (const { tenant, project, at, request, key, identity, method, route, about, status, code } of entries)
    insert.run(
      ...[tenant ?? null, project ?? null, at, request, key ?? null, identity ?? null],
      ...[method, route, about ?? null, status, code ?? null],
    );
}

/** Of the oldest so many, which are first by number: no index is needed to find them. */
const trimmedRows = 1000;

function removeBefore(connection: Connection, since: string): number {
  const sql = `DELETE FROM entries WHERE no IN (SELECT no FROM entries ORDER BY no LIMIT ${trimmedRows}) AND at < ?`;
  return Number(connection.statement(sql).run(since).changes);
}

/** Null are callers nobody knows. */
interface EntryScope {
  readonly tenant: string | null;
  readonly project: string | null;
}

function scopesOf(connection: Connection): readonly EntryScope[] {
  return connection.statement<EntryScope>("SELECT DISTINCT tenant, project FROM entries").all();
}

function removeAbove(connection: Connection, { tenant, project }: EntryScope, most: number): number {
  const ours = "FROM entries WHERE tenant IS ? AND project IS ?";
  const sql = `DELETE FROM entries WHERE no IN (SELECT no ${ours}
    AND no <= (SELECT no ${ours} ORDER BY no DESC LIMIT 1 OFFSET ?) ORDER BY no LIMIT ${trimmedRows})`;
  const kept = Math.min(most, Number.MAX_SAFE_INTEGER);
  return Number(connection.statement(sql).run(tenant, project, tenant, project, kept).changes);
}

async function* newestEntries(
  connection: Connection,
  isAbsent: () => boolean,
  { limit, before = Number.MAX_SAFE_INTEGER, ...scope }: EntryQuery,
): AsyncGenerator<NotedEntry, void> {
  if (isAbsent()) return;
  const { where, values } = within(scope);
  const sql = `SELECT * FROM entries WHERE ${[...where, "no < ?"].join(" AND ")} ORDER BY no DESC LIMIT ?`;
  const rows = await connection.patiently(() => connection.statement<EntryRow>(sql).all(...values, before, limit));
  yield* rows.map(entryOf);
}

function within({ tenant, project }: Partial<Scope>): { readonly where: readonly string[]; readonly values: readonly SqlValue[] } {
  const given = [
    ["tenant = ?", tenant],
    ["project = ?", project],
  ].filter((one): one is [string, string] => one[1] !== undefined);
  return { where: given.map(([condition]) => condition), values: given.map(([, value]) => value) };
}
