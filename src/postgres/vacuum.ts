import type { Connection } from "./connection.ts";

/** Dead rows are cleared now rather than when the server gets to it. Their pages, backups and logs are the server's business. */
export async function vacuum(connection: Connection, tables: readonly string[]): Promise<boolean> {
  for (const table of tables) await connection.raw(connection.sql(`VACUUM openrath.${table}`));
  return true;
}
