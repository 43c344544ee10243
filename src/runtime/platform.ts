/** The machine as Node gives it. */
import { hash, randomFillSync } from "node:crypto";
import { v7 } from "uuid";
import { type Platform, saltBytes } from "../session/platform.ts";

const pool = Buffer.alloc(saltBytes * 512);
let used = pool.length;

/** Salt is drawn from a pool filled 8 KB at a time: a call to the system for each event would cost more than its hash. */
function salt(): Uint8Array {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += saltBytes;
  return pool.subarray(used - saltBytes, used);
}

export const nodePlatform: Platform = {
  sha256: (content) => hash("sha256", content, "hex"),
  bytes: (text) => Buffer.from(text),
  text: (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString(),
  salt,
  time: () => new Date().toISOString(),
  newId: () => v7(),
};
