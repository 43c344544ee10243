/** Blobs by hash: deflated where that is smaller, stored once per tenant, touched when put again. */
import { hash } from "node:crypto";
import { promisify } from "node:util";
import { deflateRaw, deflateRawSync, inflateRawSync } from "node:zlib";
import type { Connection } from "../sqlite/connection.ts";
import { corrupt } from "../sqlite/open.ts";
import type { Write } from "./store.ts";

type Blob = NonNullable<Write["blobs"]>[number];

/** A blob on its way into a transaction. */
export interface PackedBlob {
  readonly hash: Buffer;
  readonly bytes: Uint8Array;
  /** As it will be stored; undefined for one that was there already. */
  body: Uint8Array | undefined;
}

/** Larger blobs are deflated off the main thread. */
const asyncBytes = 64 * 1024;
const deflateAsync = promisify(deflateRaw);

export function copyBlob(blob: Blob): PackedBlob {
  return { hash: Buffer.from(blob.hash, "hex"), bytes: new Uint8Array(blob.bytes), body: undefined };
}

/** Compresses a blob before its transaction, unless it is there. */
export async function packBlob(connection: Connection, blob: PackedBlob): Promise<void> {
  const known = await connection.patiently(() =>
    connection.statement("SELECT 1 FROM blobs WHERE tenant = ? AND hash = ?").get(connection.tenant, blob.hash),
  );
  if (known !== undefined) return;
  const deflated = blob.bytes.length < asyncBytes ? deflateRawSync(blob.bytes) : await deflateAsync(blob.bytes);
  blob.body = smaller(deflated, blob.bytes);
}

/** Part of an append: touches a blob that is there, adds one that is not. */
export function putBlob(connection: Connection, packed: PackedBlob): void {
  const { tenant, clock } = connection;
  const touched = connection.statement("UPDATE blobs SET touched_at = ? WHERE tenant = ? AND hash = ?").run(clock(), tenant, packed.hash);
  if (touched.changes > 0) return;
  const body = packed.body ?? smaller(deflateRawSync(packed.bytes), packed.bytes);
  const deflated = body === packed.bytes ? 0 : 1;
  connection
    .statement("INSERT INTO blobs (tenant, hash, deflated, touched_at, body) VALUES (?, ?, ?, ?, ?)")
    .run(tenant, packed.hash, deflated, clock(), body);
}

export function readBlob(connection: Connection, name: string): Uint8Array | undefined {
  const row = connection
    .statement<{ deflated: number; body: Uint8Array }>("SELECT deflated, body FROM blobs WHERE tenant = ? AND hash = ?")
    .get(connection.tenant, Buffer.from(name, "hex"));
  if (row === undefined) return undefined;
  const bytes = row.deflated === 1 ? inflated(connection, name, row.body) : row.body;
  if (hash("sha256", bytes) !== name) throw corrupt(connection.path, `the content of blob ${name} has another hash`);
  return bytes;
}

function inflated(connection: Connection, name: string, body: Uint8Array): Uint8Array {
  try {
    return inflateRawSync(body);
  } catch (error) {
    throw corrupt(connection.path, `blob ${name} cannot be decompressed`, error);
  }
}

function smaller(deflated: Uint8Array, bytes: Uint8Array): Uint8Array {
  // No bytes are kept deflated as well, as two: node:sqlite of Node 22 stores empty bytes as NULL.
  return deflated.length < bytes.length || bytes.length === 0 ? deflated : bytes;
}
