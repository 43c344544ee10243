/** The feed of a project in a file that others may share: frames in the order in which they were committed. */

import { RathError } from "../session/errors.ts";
import type { Connection } from "../sqlite/connection.ts";
import { numberOf, placeAt } from "./feed-place.ts";
import { breathe } from "./pages.ts";
import { type FrameRow, type Frames, perLog, type ReadTo } from "./sqlite-frames.ts";
import type { Fed } from "./store.ts";

interface FedRow extends FrameRow {
  readonly no: number;
}

const firstFrames = 8;
const mostFrames = 256;
const pageBytes = 256 * 1024;
/** Rows of other projects and of removed frames are passed over; no more than this many in one piece of work. */
const rowsAPage = 4096;

/** What was fed after a place, a frame each. Ends where the feed ended when reading began. */
export async function* feedPages(connection: Connection, frames: Frames, after: string | undefined): AsyncGenerator<readonly Fed[], void> {
  const last = await connection.patiently(() => lastFed(connection));
  const heads = new Map<number, ReadTo>();
  let limit = firstFrames;
  for (let from = numberOf(after, last); from < last; ) {
    const to = Math.min(last, from + rowsAPage);
    const { rows, fed } = await connection.patiently(() => {
      const rows = between(connection, from, to, limit);
      return { rows, fed: rows.map((row) => fedOf(frames, row, heads)) };
    });
    yield fed;
    from = rows.length < limit ? to : (rows.at(-1) as FedRow).no;
    const bytes = rows.reduce((sum, { body }) => sum + body.length, 1);
    limit = Math.max(1, Math.min(mostFrames, Math.floor((pageBytes * rows.length) / bytes) || firstFrames));
    await breathe();
  }
}

/** The place after everything that was committed, by whatever project. */
export function fedTo(connection: Connection): string {
  return placeAt(lastFed(connection));
}

/** Something was appended after a place that somebody may need a log for. */
export function hasSince(connection: Connection, after: string): boolean {
  const { tenant, project } = connection;
  // Asked in this order: what came since is little.
  const sql = `SELECT 1 FROM feed CROSS JOIN logs ON logs.no = feed.place / ${perLog}
    WHERE feed.no > ? AND logs.tenant = ? AND logs.project = ? AND logs.log <> 'erasure' LIMIT 1`;
  return connection.statement(sql).get(numberOf(after, lastFed(connection)), tenant, project) !== undefined;
}

function lastFed(connection: Connection): number {
  return connection.statement<{ no: number | null }>("SELECT max(no) AS no FROM feed").get()?.no ?? 0;
}

function between(connection: Connection, from: number, to: number, limit: number): FedRow[] {
  const { tenant, project } = connection;
  // Asked in this order: whose log it is, and only then for the frame.
  const sql = `SELECT feed.no, frames.place, frames.writer, frames.body
    FROM feed CROSS JOIN logs ON logs.no = feed.place / ${perLog} CROSS JOIN frames ON frames.place = feed.place
    WHERE feed.no > ? AND feed.no <= ? AND logs.tenant = ? AND logs.project = ? ORDER BY feed.no LIMIT ?`;
  return connection.statement<FedRow>(sql).all(from, to, tenant, project, limit);
}

/** Most frames follow one of their log that was read before: its head need not be looked up. */
function fedOf(frames: Frames, row: FedRow, heads: Map<number, ReadTo>): Fed {
  const log = Math.floor(row.place / perLog);
  const place = placeAt(row.no);
  try {
    const events = frames.events([row], heads.get(log));
    heads.set(log, { place: row.place + events.length, head: events.at(-1)?.id });
    return { place, events };
  } catch (error) {
    if (!RathError.is(error, "store.corrupt")) throw error;
    return { place, events: [], problem: error };
  }
}

/** Removes what the feed still says of frames that are gone, but for the newest row: its number must not be given again. */
export function forgetRemoved(connection: Connection): void {
  connection.transaction(false, () =>
    connection
      .statement(
        "DELETE FROM feed WHERE no < (SELECT max(no) FROM feed) AND NOT EXISTS (SELECT 1 FROM frames WHERE frames.place = feed.place)",
      )
      .run(),
  );
}
