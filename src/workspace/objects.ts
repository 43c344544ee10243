/** The content store as the workspace sees it: bytes by their SHA-256. The runtime keeps them as blobs of the store; tests in a map. */
import { hash } from "node:crypto";
import { RathError } from "../session/errors.ts";

export interface Objects {
  /** The bytes under a hash. Rejects with `workspace.missing` when nobody has them. */
  get(hash: string): Promise<Uint8Array>;
  /** Keeps bytes and gives their hash. They are durable at the latest with the event that names a tree which holds them. */
  put(bytes: Uint8Array): Promise<string>;
  /** Hashes of contents that were erased though trees name them. */
  erased?(): Promise<ReadonlySet<string>>;
}

/** Objects of this process alone. */
export class ObjectMap implements Objects {
  readonly map = new Map<string, Uint8Array>();

  async get(name: string): Promise<Uint8Array> {
    const bytes = this.map.get(name);
    if (bytes === undefined) throw missing(name);
    return bytes;
  }
  async put(bytes: Uint8Array): Promise<string> {
    const name = hash("sha256", bytes, "hex");
    if (!this.map.has(name)) this.map.set(name, bytes);
    return name;
  }
}

export function missing(name: string): RathError {
  return new RathError("workspace.missing", `Object ${name} of a workspace is not in the store: run verify to see what else is missing.`, {
    details: { hash: name },
  });
}
