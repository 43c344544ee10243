/** Blobs by hash: deflated where that is smaller, stored once per tenant, touched when put again. */
import { hash } from "node:crypto";
import { promisify } from "node:util";
import { deflateRaw, inflateRaw } from "node:zlib";
import type { Connection } from "../postgres/connection.ts";
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
 * whoever says what stays. Each is removed by a statement that asks for its age again, so that one which was put meanwhile stays.
 */
export async function* sweepBlobs(
  connection: Connection,
  { before, dryRun, keeping }: SweepOptions,
): AsyncGenerator<{ readonly hash: string; readonly bytes: number }, void> {
  const kept = await keeping(tenantEvents(connection));
  for (let last = 0, more = true; more; ) {
    const page = await connection.read<BlobRow>(
      `SELECT no::float8 AS no, encode(hash, 'hex') AS hash, length(body) AS bytes FROM openrath.blobs
       WHERE tenant = $1 AND touched_at < $2::timestamptz AND no > $3 ORDER BY no LIMIT ${pageRows}`,
      [connection.tenant, before, last],
    );
    more = page.length === pageRows;
    last = page.at(-1)?.no ?? last;
    const unneeded = page.filter((row) => !kept(row.hash));
    const gone = dryRun || unneeded.length === 0 ? unneeded : await remove(connection, unneeded, before);
    for (const { hash: name, bytes } of gone) yield { hash: name, bytes };
  }
}

interface BlobRow {
  readonly no: number;
  readonly hash: string;
  readonly bytes: number;
}

function remove(connection: Connection, rows: readonly BlobRow[], before: string): Promise<BlobRow[]> {
  return connection.write<BlobRow>(
    `DELETE FROM openrath.blobs WHERE no = ANY ($1::bigint[]) AND tenant = $2 AND touched_at < $3::timestamptz
     RETURNING no::float8 AS no, encode(hash, 'hex') AS hash, length(body) AS bytes`,
    [rows.map(({ no }) => no), connection.tenant, before],
  );
}

/** Every event of the tenant, of all projects, since they share its blobs. */
async function* tenantEvents(connection: Connection): AsyncGenerator<StoredEvent, void> {
  const projects = await connection.read<{ project: string }>("SELECT DISTINCT project FROM openrath.logs WHERE tenant = $1", [
    connection.tenant,
  ]);
  for (const { project } of projects)
    for await (const { id } of items(logPages(connection, {}, project))) yield* items(sessionPages(connection, { session: id, project }));
}
