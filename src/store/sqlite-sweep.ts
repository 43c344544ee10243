/**
 * Removes blobs that nobody needs. They belong to a tenant, whatever the project: what every project of it has in its logs is shown
 * to whoever says what stays. Then blobs are looked at page by page, and each is removed by a statement that asks for its age
 * again, so that one which was put meanwhile stays.
 */

import type { Connection } from "../sqlite/connection.ts";
import { breathe, items } from "./pages.ts";
import { Frames } from "./sqlite-frames.ts";
import { logPages } from "./sqlite-logs.ts";
import { sessionPages } from "./sqlite-read.ts";
import type { StoredEvent, SweepOptions } from "./store.ts";

interface Row {
  readonly no: number;
  readonly hash: Uint8Array;
  readonly bytes: number;
}

const pageRows = 256;

export async function* sweepBlobs(
  connection: Connection,
  open: (project: string) => Connection,
  { before, dryRun, keeping }: SweepOptions,
): AsyncGenerator<{ readonly hash: string; readonly bytes: number }, void> {
  const oldest = Date.parse(before);
  const kept = await keeping(tenantEvents(connection, open));
  for (let last = 0; ; ) {
    const from = last;
    const page = await connection.patiently(() => olderThan(connection, oldest, from));
    last = page.at(-1)?.no ?? last;
    const unneeded = page.filter(({ hash }) => !kept(nameOf(hash)));
    const gone = dryRun || unneeded.length === 0 ? unneeded : await connection.patiently(() => remove(connection, unneeded, oldest));
    for (const { hash, bytes } of gone) yield { hash: nameOf(hash), bytes };
    if (page.length < pageRows) return;
    await breathe();
  }
}

/** Every event of the tenant; of this project first, then of those that share its blobs. */
async function* tenantEvents(connection: Connection, open: (project: string) => Connection): AsyncGenerator<StoredEvent, void> {
  yield* projectEvents(connection);
  const others = await connection.patiently(() =>
    connection
      .statement<{ project: string }>("SELECT DISTINCT project FROM logs WHERE tenant = ? AND project <> ?")
      .all(connection.tenant, connection.project),
  );
  for (const { project } of others) {
    const other = open(project);
    try {
      yield* projectEvents(other);
    } finally {
      other.close();
    }
  }
}

async function* projectEvents(connection: Connection): AsyncGenerator<StoredEvent, void> {
  const frames = new Frames(connection);
  for await (const { id } of items(logPages(connection, frames, {}))) yield* items(sessionPages(connection, frames, id));
}

function olderThan(connection: Connection, oldest: number, from: number): Row[] {
  return connection
    .statement<Row>(
      `SELECT no, hash, length(body) AS bytes FROM blobs WHERE tenant = ? AND touched_at < ? AND no > ? ORDER BY no LIMIT ${pageRows}`,
    )
    .all(connection.tenant, oldest, from);
}

function remove(connection: Connection, rows: readonly Row[], oldest: number): Row[] {
  return connection.transaction(false, () =>
    rows.filter(({ no }) => connection.statement("DELETE FROM blobs WHERE no = ? AND touched_at < ?").run(no, oldest).changes > 0),
  );
}

function nameOf(hash: Uint8Array): string {
  return Buffer.from(hash.buffer, hash.byteOffset, hash.byteLength).toString("hex");
}
