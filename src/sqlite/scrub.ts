/**
 * Makes sure that what was removed is not in the files any more. SQLite overwrites what is freed (secure_delete), but copies of a row
 * may be left in the gaps of pages it was moved from, and every change is in the write-ahead log until that is emptied. So the file is
 * written anew, without gaps, and its log is cut to nothing.
 */
import type { Connection } from "./connection.ts";

/** False when other processes were reading for so long that the log could not be emptied: it still has what was removed. */
export async function scrub(connection: Connection): Promise<boolean> {
  if (!connection.opened) return true;
  await connection.patiently(() => connection.database.exec("VACUUM"));
  return connection
    .patiently(() => connection.emptyLog())
    .then(
      () => true,
      () => false,
    );
}
