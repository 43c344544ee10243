/**
 * Reading events, page by page, each page one statement and so one moment. Between two pages nothing is held; what is read ends where
 * the logs ended when the reading began.
 */
import type { Connection } from "../postgres/connection.ts";
import { idPrefix } from "./frame.ts";
import { before, columns, type FrameRow, orderSpan, unpackFrame } from "./postgres-frames.ts";
import type { StoredEvent } from "./store.ts";

type Page = readonly StoredEvent[];

const firstFrames = 32;
const pageBytes = 1024 * 1024;
export const idsAPage = 256;

/** One log by step, both ends included. */
export async function* sessionPages(
  connection: Connection,
  query: { readonly session: string; readonly project?: string; readonly from?: number | undefined; readonly to?: number | undefined },
): AsyncGenerator<Page, void> {
  const { session, project = connection.project, from = 0, to = Number.MAX_SAFE_INTEGER } = query;
  let head: string | undefined;
  let place: { readonly next: number; readonly last: number | null } = { next: -1, last: null };
  for (let limit = firstFrames; ; ) {
    const sql = place.next < 0 ? (from > 0 ? fromStep : fromStart) : onwards;
    const values = [connection.tenant, project, session, limit, to];
    if (place.next >= 0) values.push(place.next, place.last as number);
    else if (from > 0) values.push(from);
    const rows = await connection.read<SessionRow>(sql, values);
    const first = rows[0];
    if (first === undefined) return;
    head ??= first.before?.toString("hex");
    const events: StoredEvent[] = [];
    for (const row of rows) {
      for (const event of unpackFrame(connection, session, row, head)) events.push(event);
      head = events.at(-1)?.id;
    }
    const final = rows.at(-1) as SessionRow;
    yield from <= 0 && query.to === undefined ? events : events.filter(({ step }) => step >= from && step <= to);
    place = { next: final.seq + final.count, last: first.last };
    if (rows.length < limit || place.next > (place.last as number)) return;
    limit = nextLimit(rows);
  }
}

interface SessionRow extends FrameRow {
  readonly before: Buffer | null;
  readonly last: number;
}

const lastSeq = "(SELECT max(m.seq) FROM openrath.frames m WHERE m.log = f.log) AS last";
const ofLog = `FROM openrath.logs l JOIN openrath.frames f ON f.log = l.no
  WHERE l.tenant = $1 AND l.project = $2 AND l.id = $3 AND f.first_step <= $5`;
const fromStart = `SELECT ${columns}, NULL::bytea AS before, ${lastSeq} ${ofLog} ORDER BY f.seq LIMIT $4`;
// Steps grow by one or more a position, mostly by one: the frame is looked for downwards from where the step can be at the latest.
const fromStep = `SELECT ${columns}, ${before}, ${lastSeq} ${ofLog} AND f.seq > coalesce((
    SELECT s.seq FROM openrath.frames s WHERE s.log = l.no AND s.last_step < $6
      AND s.seq <= $6 - (SELECT z.first_step FROM openrath.frames z WHERE z.log = l.no AND z.seq = 0)
    ORDER BY s.seq DESC LIMIT 1), -1) ORDER BY f.seq LIMIT $4`;
const onwards = `SELECT ${columns}, NULL::bytea AS before, $7::integer AS last ${ofLog} AND f.seq >= $6 AND f.seq <= $7::integer ORDER BY f.seq LIMIT $4`;

/** All that a run wrote, by order. Frames come by their first order; an event is handed out once no frame to come can be before it. */
export async function* writtenPages(connection: Connection, run: string, after = -Number.MAX_SAFE_INTEGER): AsyncGenerator<Page, void> {
  let waiting: StoredEvent[] = [];
  let cursor: readonly [order: number, log: number, seq: number] = [after - orderSpan, -1, -1];
  let end: number | null = null;
  for (let limit = 2 * firstFrames; ; ) {
    const rows: WrittenRow[] = await connection.read<WrittenRow>(ofRun, [
      connection.tenant,
      connection.project,
      run,
      after,
      end,
      limit,
      ...cursor,
    ]);
    const last = rows.at(-1);
    end ??= rows[0]?.final ?? null;
    for (const row of rows) {
      for (const event of unpackFrame(connection, row.session, row, row.before?.toString("hex")))
        if (event.order > after) waiting.push(event);
    }
    waiting.sort((a, b) => a.order - b.order);
    const done = last === undefined || rows.length < limit;
    const known = done ? waiting.length : waiting.findIndex(({ order }) => order >= last.first_order);
    yield waiting.slice(0, known);
    if (done) return;
    waiting = waiting.slice(known);
    cursor = [last.first_order, last.log, last.seq];
    limit = nextLimit(rows);
  }
}

interface WrittenRow extends FrameRow {
  readonly session: string;
  readonly before: Buffer | null;
  readonly final: number;
}

const ofRun = `SELECT ${columns}, l.id AS session, ${before},
    (SELECT max(m.first_order)::float8 FROM openrath.frames m WHERE m.run = $3) AS final
  FROM openrath.frames f JOIN openrath.logs l ON l.no = f.log
  WHERE l.tenant = $1 AND l.project = $2 AND f.run = $3 AND f.last_order > $4 AND ($5::bigint IS NULL OR f.first_order <= $5)
    AND (f.first_order, f.log, f.seq) > ($7, $8, $9)
  ORDER BY f.first_order, f.log, f.seq LIMIT $6`;

/** In the order asked, without those that are not there. */
export async function* idPages(connection: Connection, ids: readonly string[]): AsyncGenerator<Page, void> {
  for (let start = 0; start < ids.length || start === 0; start += idsAPage) {
    const wanted = ids.slice(start, start + idsAPage);
    const found = await findEvents(connection, wanted);
    const given = new Set<string>();
    yield wanted.flatMap((id) => {
      const event = found.get(id)?.event;
      if (event === undefined) return [];
      // Each has bytes of its own, also where an id is asked for twice.
      const fresh = !given.has(id);
      given.add(id);
      return [fresh ? event : { ...event, envelope: Uint8Array.from(event.envelope), data: event.data && Uint8Array.from(event.data) }];
    });
  }
}

export interface FoundRow extends FrameRow {
  readonly session: string;
  readonly before: Buffer | null;
}

export async function findEvents(connection: Connection, ids: readonly string[]) {
  const rows = await connection.read<FoundRow>(byPrefix, [
    connection.tenant,
    connection.project,
    ids.filter((id) => /^[0-9a-f]{64}$/.test(id)).map(idPrefix),
  ]);
  const wanted = new Set(ids);
  const found = new Map<string, { readonly row: FoundRow; readonly event: StoredEvent }>();
  for (const row of rows)
    for (const event of unpackFrame(connection, row.session, row, row.before?.toString("hex")))
      if (wanted.has(event.id)) found.set(event.id, { row, event });
  return found;
}

const byPrefix = `SELECT ${columns}, l.id AS session, ${before} FROM openrath.frames f JOIN openrath.logs l ON l.no = f.log
  WHERE l.tenant = $1 AND l.project = $2
    AND (f.log, f.seq) IN (SELECT e.log, e.seq FROM openrath.event_ids e WHERE e.prefix = ANY ($3::bigint[]))`;

/** How many frames make the next page. */
export function nextLimit(rows: readonly FrameRow[]): number {
  const bytes = rows.reduce((sum, row) => sum + row.body.length, 1);
  return Math.max(1, Math.min(1024, Math.floor((pageBytes * rows.length) / bytes)));
}
