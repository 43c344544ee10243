/** Connections for the stores of many projects in one database. */
import type { PostgresPool } from "../postgres/driver.ts";
import { SharedPool } from "../postgres/shared-pool.ts";

const most = 12;

/** To be given to stores and memories instead of the URL: they connect when they are used, and the last one that is closed closes it. */
export function sharedPool(url: string): PostgresPool {
  return new SharedPool(url, most);
}
