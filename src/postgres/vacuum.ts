/**
 * Clearing removed rows now rather than when the server gets to it. A vacuum frees their space and moves what stays together, but
 * does not overwrite what it frees: only writing a table anew (VACUUM FULL) does, which locks everybody out meanwhile. That is left to
 * whoever runs the server.
 */
import type { Connection } from "./connection.ts";

/**
 * The tables whose unused space may hold bytes of what was removed; false when this role may not vacuum all of them, since PostgreSQL
 * would only warn, and leave those alone.
 */
export async function vacuum(connection: Connection, tables: readonly string[]): Promise<false | readonly string[]> {
  const [row] = await connection.read<{ readonly count: number }>(allowed, [connection.schema, tables]);
  if (row?.count !== tables.length) return false;
  await connection.unhurried(`VACUUM ${tables.map((table) => `openrath.${table}`).join(", ")}`);
  return tables.map((table) => `${connection.schema}.${table}`);
}

/** Owners of a table or of the database may, and from PostgreSQL 17 on whoever was granted it. */
const allowed = `SELECT count(*)::integer AS count FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_database d ON d.datname = current_database()
  WHERE n.nspname = $1 AND c.relname = ANY ($2::text[]) AND (pg_has_role(c.relowner, 'USAGE') OR pg_has_role(d.datdba, 'USAGE')
    OR CASE WHEN current_setting('server_version_num')::integer >= 170000 THEN has_table_privilege(c.oid, 'MAINTAIN') ELSE false END)`;
