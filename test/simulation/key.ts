/** One signing key that everybody knows, so that the same world gives the same bytes. */
import { createPrivateKey } from "node:crypto";
import { Key } from "../../src/runtime/key.ts";

/** Ed25519 in PKCS #8: the fixed beginning, then a seed that is no secret. */
const der = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), Buffer.from("openrath test key, not a secret!")]);
const pem = createPrivateKey({ key: der, format: "der", type: "pkcs8" }).export({ format: "pem", type: "pkcs8" }) as string;

const key = new Key(pem);

/** Opening a key takes as long as a hundred steps: all processes share it. */
export async function openTestKey(): Promise<Key> {
  return key;
}

/** Its statements begin anew. */
export function resetTestKey(): void {
  key.previous = undefined;
}
