/** The signing key of a home and the bytes it signs. */
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import canonicalize from "canonicalize";
import type { DataOf } from "../session/event.ts";

export type Statement = DataOf<"run.signed">["statement"];

/** One signing key; `previous` chains its statements. */
export class Key {
  /** The public key, base64url of its raw 32 bytes: also its name. */
  readonly id: string;
  previous: string | undefined;
  readonly #private: KeyObject;

  constructor(pem: string | undefined) {
    this.#private = pem === undefined ? generateKeyPairSync("ed25519").privateKey : createPrivateKey(pem);
    this.id = (createPublicKey(this.#private).export({ format: "jwk" }) as { readonly x: string }).x;
  }

  get pem(): string {
    return this.#private.export({ type: "pkcs8", format: "pem" }) as string;
  }

  sign(statement: Statement): string {
    const bytes = statementBytes(statement);
    this.previous = createHash("sha256").update(bytes).digest("hex");
    return sign(null, bytes, this.#private).toString("base64url");
  }
}

/** Whether it can be the name of a key: base64url of 32 bytes. */
export function isKeyId(text: unknown): boolean {
  return typeof text === "string" && /^[A-Za-z0-9_-]{43}$/.test(text);
}

export function statementBytes(statement: Statement): Buffer {
  return Buffer.from(canonicalize(statement) as string);
}

/** The running digest of a run's order of delivery. */
export function orderDigest(before: string, ids: readonly string[]): string {
  return createHash("sha256").update(before).update(ids.join("")).digest("hex");
}
