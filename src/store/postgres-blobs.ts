/** Blobs by hash: deflated where that is smaller, stored once per tenant, touched when put again. */
import { hash } from "node:crypto";
import { promisify } from "node:util";
import { deflateRaw, inflateRaw } from "node:zlib";
import type { Connection } from "../postgres/connection.ts";
import { literal } from "../postgres/literal.ts";
import { RathError } from "../session/errors.ts";
import { items } from "./pages.ts";
import { logPages } from "./postgres-logs.ts";
import { sessionPages } from "./postgres-read.ts";
import type { StoredEvent, SweepOptions } from "./store.ts";

/** A blob on its way into a statement. */
export interface PackedBlob {
  readonly hash: string;
  readonly deflated: boolean;
  readonly body: Uint8Array;
}

const deflate = promisify(deflateRaw);
const inflate = promisify(inflateRaw);
/** Smaller ones are sent at once: asking whether they are there costs more. */
const askedBytes = 4096;
const pageRows = 256;

export async function packBlob(name: string, bytes: Uint8Array): Promise<PackedBlob> {
  const body = await deflate(bytes);
  return body.length < bytes.length ? { hash: name, deflated: true, body } : { hash: name, deflated: false, body: bytes };
}

/** Which of these need not be sent, since they are there and large enough that it matters. */
export async function knownBlobs(connection: Connection, blobs: ReadonlyMap<string, Uint8Array>): Promise<ReadonlySet<string>> {
  const asked = [...blobs].filter(([, bytes]) => bytes.length >= askedBytes).map(([name]) => Buffer.from(name, "hex"));
  if (asked.length === 0) return new Set();
  const rows = await connection.read<{ hash: Buffer }>("SELECT hash FROM openrath.blobs WHERE tenant = $1 AND hash = ANY ($2::bytea[])", [
    connection.tenant,
    asked,
  ]);
  return new Set(rows.map((row) => row.hash.toString("hex")));
}

export async function readBlob(connection: Connection, name: string): Promise<Uint8Array | undefined> {
  const [row] = await connection.read<{ deflated: boolean; body: Buffer }>(
    "SELECT deflated, body FROM openrath.blobs WHERE tenant = $1 AND hash = $2",
    [connection.tenant, Buffer.from(name, "hex")],
  );
  if (row === undefined) return undefined;
  const bytes = row.deflated ? await inflate(row.body).catch((cause: unknown) => damaged(connection, name, cause)) : row.body;
  return hash("sha256", bytes) === name ? bytes : damaged(connection, name);
}

function damaged(connection: Connection, name: string, cause?: unknown): never {
  const message = `${connection.place} is damaged: blob ${name} has another content than its name says. Restore the database from a backup.`;
  throw new RathError("store.corrupt", message, { cause, details: { place: connection.place, blob: name } });
}

/**
 * Removes blobs that nobody needs. They belong to a tenant, whatever the project: what every project of it has in its logs is shown to
 * whoever says what stays. Each is removed by a statement that asks for its age again, so that one which was put meanwhile stays. An
 * event may also name what it did not put: so nothing is removed before whoever says what stays has seen every event.
 */
export async function* sweepBlobs(
  connection: Connection,
  { before, dryRun, keeping }: SweepOptions,
): AsyncGenerator<{ readonly hash: string; readonly bytes: number }, void> {
  const oldest = before ?? (await serverTime(connection));
  let seen = await endsOf(connection);
  let kept = await keeping(tenantEvents(connection));
  for (let last = 0, more = true; more; ) {
    const page = await connection.read<BlobRow>(
      `SELECT no::float8 AS no, encode(hash, 'hex') AS hash, length(body) AS bytes FROM openrath.blobs
       WHERE tenant = $1 AND touched_at < $2::timestamptz AND no > $3 ORDER BY no LIMIT ${pageRows}`,
      [connection.tenant, oldest, last],
    );
    more = page.length === pageRows;
    last = page.at(-1)?.no ?? last;
    let unneeded: readonly BlobRow[] = page.filter((row) => !kept(row.hash));
    while (!dryRun && unneeded.length > 0) {
      const rows = unneeded;
      const { mark, gone } = await remove(connection, rows, oldest, seen.mark);
      if (mark === seen.mark) {
        unneeded = gone;
        break;
      }
      const now = await endsOf(connection);
      kept = await keeping(newEvents(connection, seen, now));
      seen = now;
      unneeded = rows.filter((row) => !kept(row.hash));
    }
    for (const { hash: name, bytes } of unneeded) yield { hash: name, bytes };
  }
}

async function serverTime(connection: Connection): Promise<string> {
  const [row] = await connection.read<{ now: string }>("SELECT clock_timestamp()::text AS now");
  return (row as { now: string }).now;
}

/** How far every log of the tenant goes, and a mark that is another as soon as one grows. */
interface Ends {
  readonly mark: string;
  readonly logs: ReadonlyMap<string, { readonly project: string; readonly session: string; readonly step: number }>;
}

const ofTenant = "FROM openrath.frames f JOIN openrath.logs l ON l.no = f.log WHERE l.tenant = ";
const markOf = (tenant: string): string =>
  `(SELECT concat_ws(' ', count(*), sum(f.seq::bigint + f.count), sum(f.log * (f.seq + 1))) ${ofTenant}${tenant})`;

async function endsOf(connection: Connection): Promise<Ends> {
  // The mark first: what is appended between the two is seen, and seen again.
  const [row] = await connection.read<{ mark: string }>(`SELECT ${markOf("$1")} AS mark`, [connection.tenant]);
  const logs = await connection.read<{ no: string; project: string; session: string; step: number }>(
    `SELECT l.no::text AS no, l.project, l.id AS session, max(f.last_step)::float8 AS step ${ofTenant}$1 GROUP BY l.no`,
    [connection.tenant],
  );
  return { mark: (row as { mark: string }).mark, logs: new Map(logs.map(({ no, ...log }) => [no, log])) };
}

async function* newEvents(connection: Connection, before: Ends, now: Ends): AsyncGenerator<StoredEvent, void> {
  for (const [no, { project, session, step }] of now.logs) {
    const from = before.logs.get(no)?.step ?? -1;
    if (from < step) yield* items(sessionPages(connection, { session, project, from: from + 1 }));
  }
}

interface BlobRow {
  readonly no: number;
  readonly hash: string;
  readonly bytes: number;
}

/** In one transaction in which nobody appends: nothing is removed when somebody did since the mark was taken. */
async function remove(
  connection: Connection,
  rows: readonly BlobRow[],
  before: string,
  mark: string,
): Promise<{ readonly mark: string; readonly gone: readonly BlobRow[] }> {
  const sql = `LOCK TABLE openrath.frames IN SHARE MODE;
WITH mark AS (SELECT ${markOf(literal(connection.tenant))} AS mark), gone AS (
  DELETE FROM openrath.blobs WHERE no IN (${rows.map(({ no }) => no).join(", ")}) AND tenant = ${literal(connection.tenant)}
    AND touched_at < ${literal(before)}::timestamptz AND (SELECT mark FROM mark) = ${literal(mark)}
  RETURNING no::float8 AS no, encode(hash, 'hex') AS hash, length(body) AS bytes)
SELECT (SELECT mark FROM mark) AS mark, coalesce(json_agg(gone), '[]') AS gone FROM gone`;
  const { rows: answered } = await connection.raw(connection.sql(sql));
  return answered[0] as { readonly mark: string; readonly gone: readonly BlobRow[] };
}

/** Every event of the tenant, of all projects, since they share its blobs. */
async function* tenantEvents(connection: Connection): AsyncGenerator<StoredEvent, void> {
  const projects = await connection.read<{ project: string }>("SELECT DISTINCT project FROM openrath.logs WHERE tenant = $1", [
    connection.tenant,
  ]);
  for (const { project } of projects)
    for await (const { id } of items(logPages(connection, {}, project))) yield* items(sessionPages(connection, { session: id, project }));
}
