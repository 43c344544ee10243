/**
 * The feed of a project: frames ordered by the transaction that stored them and by their number in it, as far as every transaction of
 * the server has ended (see `migrations/postgres-feed.ts`). A transaction of anybody that stays open holds the feed back until it ends.
 *
 * Ids of transactions belong to one server. A database that was restored from a dump on another one has ids that are still to come
 * there: then everything is numbered anew, and places from before are refused (the `era` of the feed tells them apart).
 */
import type { Connection } from "../postgres/connection.ts";
import { literal } from "../postgres/literal.ts";
import { RathError } from "../session/errors.ts";
import { noSuchPlace } from "./feed-place.ts";
import { before, columns, type FrameRow, unpackFrame } from "./postgres-frames.ts";
import { nextLimit } from "./postgres-read.ts";
import type { Fed } from "./store.ts";

interface FedRow extends FrameRow {
  readonly session: string;
  readonly before: Buffer | null;
  readonly xid: string;
  readonly no: string;
}

/** How far the feed is known: every transaction below `end` has ended, none at or above `future` has begun. */
interface Bounds {
  readonly era: number;
  readonly end: string;
  readonly future: string;
}

const firstFrames = 32;
const lastNumber = 2n ** 63n - 1n;

/** What was fed after a place, a frame each. Ends where the feed ended when reading began. */
export async function* feedPages(connection: Connection, after: string | undefined): AsyncGenerator<readonly Fed[], void> {
  const bounds = await boundsOf(connection);
  let [xid, no] = after === undefined ? ["0", "0"] : numbersOf(after, bounds);
  const heads = new Map<number, { readonly seq: number; readonly head: string | undefined }>();
  for (let limit = firstFrames; ; ) {
    const { tenant, project } = connection;
    const rows: FedRow[] = await connection.read<FedRow>(next, [tenant, project, xid, no, bounds.end, limit]);
    yield rows.map((row) => {
      const known = heads.get(row.log);
      const place = placeAt(bounds.era, BigInt(row.xid), BigInt(row.no));
      try {
        const events = unpackFrame(connection, row.session, row, known?.seq === row.seq ? known.head : row.before?.toString("hex"));
        heads.set(row.log, { seq: row.seq + row.count, head: events.at(-1)?.id });
        return { place, events };
      } catch (error) {
        if (!RathError.is(error, "store.corrupt")) throw error;
        return { place, events: [], problem: error };
      }
    });
    const last = rows.at(-1);
    if (last === undefined || rows.length < limit) return;
    [xid, no] = [last.xid, last.no];
    limit = nextLimit(rows);
  }
}

const next = `SELECT ${columns}, l.id AS session, ${before}, f.xid::text AS xid, f.no::text AS no
  FROM openrath.frames f JOIN openrath.logs l ON l.no = f.log
  WHERE l.tenant = $1 AND l.project = $2 AND (f.xid, f.no) > ($3::text::xid8, $4::bigint) AND f.xid < $5::text::xid8
  ORDER BY f.xid, f.no LIMIT $6`;

/** The place after everything that is known; no row is read for it. */
export async function fedTo(connection: Connection): Promise<string> {
  const { era, end } = await boundsOf(connection);
  return placeAt(era, BigInt(end) - 1n, lastNumber);
}

/**
 * SQL that is true while nothing was appended after a place that somebody may need a log for. It sees those whose transactions have
 * ended: whoever asks holds what keeps others from appending.
 */
export async function nothingSince(connection: Connection, place: string): Promise<string> {
  const bounds = await boundsOf(connection);
  const [xid, no] = numbersOf(place, bounds);
  const [tenant, project] = [literal(connection.tenant), literal(connection.project)];
  // In another era the numbers of frames are others.
  return `${era} = ${bounds.era} AND NOT EXISTS (
    SELECT 1 FROM openrath.frames f JOIN openrath.logs l ON l.no = f.log
    WHERE l.tenant = ${tenant} AND l.project = ${project} AND l.log <> 'erasure' AND (f.xid, f.no) > ('${xid}'::xid8, ${no}))`;
}

async function boundsOf(connection: Connection): Promise<Bounds> {
  const [found] = await connection.read<Bounds & { readonly foreign: boolean }>(bounds);
  if (found?.foreign !== true) return found as Bounds;
  await connection.unhurried(restored);
  return boundsOf(connection);
}

const era = "coalesce((SELECT version FROM openrath.formats WHERE family = 'feed'), 0)";
const foreign = "coalesce((SELECT xid FROM openrath.frames ORDER BY xid DESC, no DESC LIMIT 1) >= pg_snapshot_xmax(s.s), false)";
const bounds = `SELECT ${era} AS era, pg_snapshot_xmin(s.s)::text AS "end", pg_snapshot_xmax(s.s)::text AS future, ${foreign} AS foreign
  FROM (SELECT pg_current_snapshot() AS s) s`;
/**
 * Numbers everything anew, as if one transaction had stored it before all others. What had been numbered so before comes first, then
 * the rest by its own numbers, which have parents first too; the ids of its transactions are those of two servers. The new numbers
 * are above all others: the key of the feed is checked row by row.
 */
const renumber = `UPDATE openrath.frames f SET xid = '0', no = o.no
  FROM (SELECT log, seq, max(no) OVER () + row_number() OVER (ORDER BY xid <> '0', no) AS no FROM openrath.frames) o
  WHERE f.log = o.log AND f.seq = o.seq`;
/** A frame that is seen was stored by a transaction that has begun, or else on another server. Asked again by whoever waited for the lock. */
const restored = `DO $restored$ BEGIN
  LOCK TABLE openrath.frames IN SHARE ROW EXCLUSIVE MODE;
  IF (SELECT max(xid) FROM openrath.frames) >= pg_snapshot_xmax(pg_current_snapshot()) THEN
    ${renumber};
    INSERT INTO openrath.formats AS old (family, version) VALUES ('feed', 1) ON CONFLICT (family) DO UPDATE SET version = old.version + 1;
  END IF;
END $restored$`;

function placeAt(era: number, xid: bigint, no: bigint): string {
  return `${hex(era, 4)}-${hex(xid, 16)}-${hex(no, 16)}`;
}

function numbersOf(place: string, { era, future }: Bounds): [xid: string, no: string] {
  const [, ofEra, xid, no] = /^([0-9a-f]{4})-([0-9a-f]{16})-([0-7][0-9a-f]{15})$/.exec(place) ?? [];
  if (ofEra !== hex(era, 4) || BigInt(`0x${xid}`) >= BigInt(future)) throw noSuchPlace(place);
  return [String(BigInt(`0x${xid}`)), String(BigInt(`0x${no}`))];
}

function hex(value: number | bigint, digits: number): string {
  return value.toString(16).padStart(digits, "0");
}
