/**
 * Removes blobs that nobody needs. They belong to a tenant, whatever the project: what every project of it has in its logs is shown
 * to whoever says what stays. Then blobs are looked at page by page, and each is removed by a statement that asks for its age
 * again, so that one which was put meanwhile stays. An event may also name what it did not put, such as the files of a tree that it
 * changed: so no page is removed before whoever says what stays has seen every event.
 */

import type { Connection } from "../sqlite/connection.ts";
import { pragma } from "../sqlite/format.ts";
import { breathe, items } from "./pages.ts";
import { Frames, perLog } from "./sqlite-frames.ts";
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
  const oldest = before === undefined ? connection.clock() : Date.parse(before);
  const seen = new Seen(connection);
  await connection.patiently(() => seen.mark());
  let kept = await keeping(tenantEvents(connection, open));
  for (let last = 0; ; ) {
    const from = last;
    const page = await connection.patiently(() => olderThan(connection, oldest, from));
    last = page.at(-1)?.no ?? last;
    let unneeded = page.filter(({ hash }) => !kept(nameOf(hash)));
    while (!dryRun && unneeded.length > 0) {
      const rows = unneeded;
      const gone = await connection.patiently(() => remove(connection, seen, rows, oldest));
      if (gone !== undefined) {
        unneeded = gone;
        break;
      }
      kept = await keeping(items(seen.more()));
      unneeded = rows.filter(({ hash }) => !kept(nameOf(hash)));
    }
    for (const { hash, bytes } of unneeded) yield { hash: nameOf(hash), bytes };
    if (page.length < pageRows) return;
    await breathe();
  }
}

/** How far every log of the tenant was looked at. */
class Seen {
  readonly #connection: Connection;
  readonly #frames: Frames;
  #ends = new Map<number, number>();
  /** SQLite's counts of changes, by others and by this connection: while they stand still, nobody appended anything. */
  #changes = "";

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#frames = new Frames(connection);
  }

  mark(): void {
    this.#ends = this.#read();
    this.note();
  }

  /** What happened until now is known. */
  note(): void {
    this.#changes = this.#count();
  }

  /** Nothing was appended since. */
  isAll(): boolean {
    if (this.#changes === this.#count()) return true;
    for (const [log, end] of this.#read()) if (this.#ends.get(log) !== end) return false;
    return true;
  }

  /** The events that were appended since, which count as seen then. */
  async *more(): AsyncGenerator<readonly StoredEvent[], void> {
    const ends = await this.#connection.patiently(() => this.#read());
    for (const [log, end] of ends) {
      const known = this.#ends.get(log);
      if (known === end) continue;
      const from = known === undefined ? log * perLog : known + 1;
      yield await this.#connection.patiently(() => this.#frames.events(this.#frames.between(from, end, Number.MAX_SAFE_INTEGER)));
    }
    this.#ends = ends;
  }

  #read(): Map<number, number> {
    const sql = `SELECT no, (SELECT max(place) FROM frames WHERE place >= no * ${perLog} AND place < (no + 1) * ${perLog}) AS end
      FROM logs WHERE tenant = ?`;
    const rows = this.#connection.statement<{ no: number; end: number | null }>(sql).all(this.#connection.tenant);
    return new Map(rows.map(({ no, end }) => [no, end ?? -1]));
  }

  #count(): string {
    const own = this.#connection.statement<{ number: number }>("SELECT total_changes() AS number").get()?.number;
    return `${pragma(this.#connection.database, "data_version")} ${own}`;
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

/** Undefined, and nothing is removed, when events were appended that nobody has looked at: they may name one of them. */
function remove(connection: Connection, seen: Seen, rows: readonly Row[], oldest: number): Row[] | undefined {
  const gone = connection.transaction(false, () => {
    if (!seen.isAll()) return undefined;
    return rows.filter(({ no }) => connection.statement("DELETE FROM blobs WHERE no = ? AND touched_at < ?").run(no, oldest).changes > 0);
  });
  if (gone !== undefined) seen.note();
  return gone;
}

function nameOf(hash: Uint8Array): string {
  return Buffer.from(hash.buffer, hash.byteOffset, hash.byteLength).toString("hex");
}
