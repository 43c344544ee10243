/** What `openrath db` needs to know of keys and an access log in a file. */
import { pathOf } from "../sqlite/kept.ts";
import { type DatabaseFile, databaseFile } from "../sqlite/upkeep.ts";
import type { AccessStore } from "./access.ts";
import { accessFormat } from "./sqlite-format.ts";

export function accessFile(path: string): DatabaseFile {
  return databaseFile(path, accessFormat, {
    keys: "SELECT count(*) AS number FROM keys",
    entries: "SELECT count(*) AS number FROM entries",
  });
}

/** The file of an access store that `sqliteAccess` made; it is not opened for this. */
export function accessFileOf(access: AccessStore): DatabaseFile | undefined {
  const path = pathOf(access);
  return path === undefined ? undefined : accessFile(path);
}
