/** What `openrath db` needs to know of keys and an access log in a database. */
import { type DatabaseTables, tablesOf } from "../postgres/upkeep.ts";
import type { AccessStore } from "./access.ts";

/** The tables of an access store that `postgresAccess` made; nothing is connected for this. */
export function accessTablesOf(access: AccessStore): DatabaseTables | undefined {
  return tablesOf(access);
}
