/** The machine as Node gives it. */
import { hash, randomFillSync } from "node:crypto";
import { v7 } from "uuid";
import { type Platform, saltBytes } from "../session/platform.ts";

const pool = Buffer.alloc(saltBytes * 512);
let used = pool.length;

/** Salt is drawn from a pool filled 8 KB at a time: a call to the system for each event would cost more than its hash. */
function salted(text: string): Uint8Array {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  // Three bytes for each unit always suffice; measuring a short text first would cost as much as writing it.
  const bytes = Buffer.allocUnsafe(saltBytes + (text.length < 256 ? text.length * 3 : Buffer.byteLength(text)));
  pool.copy(bytes, 0, used, used + saltBytes);
  used += saltBytes;
  return bytes.subarray(0, saltBytes + bytes.write(text, saltBytes));
}

let second = 0;
let iso = "";

/** Many events share a millisecond. */
function time(): string {
  const now = Date.now();
  if (now !== second) {
    second = now;
    iso = new Date(now).toISOString();
  }
  return iso;
}

export const nodePlatform: Platform = {
  sha256: (content) => hash("sha256", content, "hex"),
  bytes: (text) => Buffer.from(text),
  text: (bytes) => (Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)).toString(),
  salted,
  time,
  elapsed: () => performance.now(),
  newId: () => v7(),
};

/** The same machine on the clock of a store that several machines share: deadlines mean the same everywhere. */
export function onClock(platform: Platform, clock: { readonly skewMs: number }): Platform {
  return {
    ...platform,
    time: () => {
      const skewMs = Math.round(clock.skewMs);
      return skewMs === 0 ? platform.time() : new Date(Date.parse(platform.time()) + skewMs).toISOString();
    },
  };
}
