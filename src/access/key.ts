/** Keys: made once and shown once. `rath_` + ten letters that name the key + `_` + a secret of 256 random bits. */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { RathError } from "../session/errors.ts";
import type { StoredKey } from "./access.ts";

const shape = /^(rath_[a-z2-7]{10})_([A-Za-z0-9_-]{43})$/;

/** A new key: what is shown to whoever asked for it, and what is kept. */
export function newKey(): { readonly token: string; readonly id: string; readonly hash: string } {
  const letters = "abcdefghijklmnopqrstuvwxyz234567";
  const id = `rath_${[...randomBytes(10)].map((byte) => letters[byte % 32]).join("")}`;
  const secret = randomBytes(32).toString("base64url");
  return { token: `${id}_${secret}`, id, hash: hashOf(secret) };
}

/** The parts of a token; undefined when it is none of ours. */
export function readToken(token: string): { readonly id: string; readonly secret: string } | undefined {
  const [, id, secret] = shape.exec(token) ?? [];
  return id === undefined || secret === undefined ? undefined : { id, secret };
}

/** In constant time: how long it takes says nothing about the secret. */
export function isSecretOf({ hash }: Pick<StoredKey, "hash">, secret: string): boolean {
  return timingSafeEqual(Buffer.from(hash, "hex"), Buffer.from(hashOf(secret), "hex"));
}

/** Whether it lets in at a time: neither revoked nor expired. */
export function isValidAt({ revoked, expires }: Pick<StoredKey, "revoked" | "expires">, at: string): boolean {
  return (revoked === undefined || revoked > at) && (expires === undefined || expires > at);
}

/** When it stops to let in, as far as that is known now. */
export function endOf({ revoked, expires }: Pick<StoredKey, "revoked" | "expires">): string | undefined {
  return revoked === undefined || (expires !== undefined && expires < revoked) ? expires : revoked;
}

/** What stores say of a second key with the same id. */
export function keyConflict(id: string): RathError {
  return new RathError("access.conflict", `There is a key ${id} already: make another.`, { details: { key: id } });
}

function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}
