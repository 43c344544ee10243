/** Keys and the access log in a PostgreSQL database: the one that the store of several machines is in. */
import { Connection, type PostgresOptions } from "../postgres/connection.ts";
import type { PostgresPool } from "../postgres/driver.ts";
import { keptAt } from "../postgres/upkeep.ts";
import type { AccessEntry, AccessStore, EntryQuery, KeyQuery, NotedEntry, Scope, StoredKey } from "./access.ts";
import { keyConflict } from "./key.ts";
import { accessFormat } from "./postgres-format.ts";
import { type EntryRow, entryColumns, entryOf, type KeyRow, keyColumns, keyOf, keyValues } from "./rows.ts";

const pageRows = 100;

export function postgresAccess(database: string | PostgresPool, options: PostgresOptions = {}): AccessStore {
  const connection = new Connection(database, options, accessFormat);
  const access: AccessStore = {
    addKey: (key) => addKey(connection, key),
    keys: (query) => keyPages(connection, query),
    key: async (id) => {
      const [row] = await connection.read<KeyRow>("SELECT * FROM openrath.access_keys WHERE id = $1", [id]);
      return row && keyOf(row);
    },
    endKey: async (id, { revoked = null, expires = null }: Ends) => (await connection.read(end, [id, revoked, expires])).length > 0,
    used: async (uses) => {
      if (uses.length > 0) await connection.read(use, [uses.map(({ id }) => id), uses.map(({ at }) => at)]);
    },
    note: async (entries) => {
      if (entries.length > 0) await connection.write(insertEntries, entryLists(entries));
    },
    entries: (query) => newestEntries(connection, query),
    trim: async ({ since, most }) => {
      // A page each, so that nobody waits for long.
      while ((await connection.read(removeBefore, [since])).length === trimmedRows);
      const last = await connection.read<LastRow>(lastAbove, [Math.min(most, Number.MAX_SAFE_INTEGER)]);
      const above = [last.map(({ tenant }) => tenant), last.map(({ project }) => project), last.map(({ no }) => no)];
      while (last.length > 0 && (await connection.read(removeAbove, above)).length === trimmedRows);
    },
    [Symbol.asyncDispose]: () => connection.close(),
  };
  keptAt(access, database, options, accessFormat);
  return access;
}

async function addKey(connection: Connection, key: StoredKey): Promise<void> {
  const values = keyValues(key);
  const places = values.map((_, index) => `$${index + 1}`).join(", ");
  const added = await connection.write(
    `INSERT INTO openrath.access_keys (${keyColumns}) VALUES (${places}) ON CONFLICT (id) DO NOTHING RETURNING no`,
    values,
  );
  if (added.length === 0) throw keyConflict(key.id);
}

async function* keyPages(connection: Connection, { after, ...scope }: KeyQuery): AsyncGenerator<StoredKey, void> {
  const { where, values } = within(scope);
  const sql = `SELECT * FROM openrath.access_keys WHERE ${[...where, `no > $${values.length + 1}`].join(" AND ")} ORDER BY no LIMIT ${pageRows}`;
  let last: number | string | undefined = 0;
  if (after !== undefined) last = (await connection.read<KeyRow>("SELECT no FROM openrath.access_keys WHERE id = $1", [after]))[0]?.no;
  while (last !== undefined) {
    const rows: KeyRow[] = await connection.read<KeyRow>(sql, [...values, last]);
    yield* rows.map(keyOf);
    last = rows.length < pageRows ? undefined : rows.at(-1)?.no;
  }
}

interface Ends {
  readonly revoked?: string | null | undefined;
  readonly expires?: string | null | undefined;
}

/** LEAST ignores what is null, so of two ends the earlier stays. Executed twice it gives the same. */
const end = `UPDATE openrath.access_keys SET revoked = least(revoked, $2::text), expires = least(expires, $3::text) WHERE id = $1 RETURNING no`;
const use = `UPDATE openrath.access_keys k SET used = greatest(k.used, u.at) FROM unnest($1::text[], $2::text[]) AS u (id, at) WHERE k.id = u.id`;

/** A column each: however many entries there are, it is one statement. */
const insertEntries = `INSERT INTO openrath.access_entries (${entryColumns})
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::integer[], $11::text[])`;

function entryLists(entries: readonly AccessEntry[]): unknown[] {
  const names = ["tenant", "project", "at", "request", "key", "identity", "method", "route", "about", "status", "code"] as const;
  return names.map((name) => entries.map((entry) => entry[name] ?? null));
}

/** Of the oldest so many, which are first by number: no index is needed to find them. */
const trimmedRows = 1000;
const removeBefore = `DELETE FROM openrath.access_entries
  WHERE no IN (SELECT no FROM openrath.access_entries ORDER BY no LIMIT ${trimmedRows}) AND at < $1::text RETURNING no`;

/** The newest that is too many, of each scope that has too many. Null are callers nobody knows. */
interface LastRow {
  readonly tenant: string | null;
  readonly project: string | null;
  readonly no: number | string;
}

const lastAbove = `SELECT tenant, project, max(no) AS no FROM (
    SELECT tenant, project, no, row_number() OVER (PARTITION BY tenant, project ORDER BY no DESC) AS place FROM openrath.access_entries) placed
  WHERE place > $1::bigint GROUP BY tenant, project`;
const removeAbove = `DELETE FROM openrath.access_entries WHERE no IN (
    SELECT e.no FROM openrath.access_entries e JOIN unnest($1::text[], $2::text[], $3::bigint[]) AS l (tenant, project, no)
      ON e.tenant IS NOT DISTINCT FROM l.tenant AND e.project IS NOT DISTINCT FROM l.project AND e.no <= l.no
    ORDER BY e.no LIMIT ${trimmedRows}) RETURNING no`;

async function* newestEntries(
  connection: Connection,
  { limit, before = Number.MAX_SAFE_INTEGER, ...scope }: EntryQuery,
): AsyncGenerator<NotedEntry, void> {
  const { where, values } = within(scope);
  const conditions = [...where, `no < $${values.length + 1}`].join(" AND ");
  const sql = `SELECT * FROM openrath.access_entries WHERE ${conditions} ORDER BY no DESC LIMIT $${values.length + 2}`;
  yield* (await connection.read<EntryRow>(sql, [...values, before, limit])).map(entryOf);
}

function within({ tenant, project }: Partial<Scope>): { readonly where: readonly string[]; readonly values: readonly string[] } {
  const given = [
    ["tenant", tenant],
    ["project", project],
  ].filter((one): one is [string, string] => one[1] !== undefined);
  return { where: given.map(([column], index) => `${column} = $${index + 1}`), values: given.map(([, value]) => value) };
}
