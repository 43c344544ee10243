/** Names of memories: "memory://project/key", and with an owner for every other scope: "memory://user/ada/key". */
import { RathError } from "./errors.ts";
import type { MemoryScope } from "./memory.ts";

const scheme = "memory://";

/** The full name of a key. */
export function memoryUri(scope: MemoryScope, owner: string | undefined, key: string): string {
  return memoryPrefix(scope, owner) + escaped(key);
}

/** How the names of all that belongs to an owner begin. */
export function memoryPrefix(scope: MemoryScope, owner: string | undefined): string {
  return owner === undefined ? `${scheme}${scope}/` : `${scheme}${scope}/${escaped(owner)}/`;
}

export function isMemoryUri(name: string): boolean {
  return name.startsWith(scheme);
}

/** "uri@version" in its parts; without a version, all of them are meant. */
export function readVersionName(name: string): { readonly uri: string; readonly version: number | undefined } {
  const at = name.lastIndexOf("@");
  const version = at < 0 ? Number.NaN : Number(name.slice(at + 1));
  return Number.isInteger(version) ? { uri: name.slice(0, at), version } : { uri: name, version: undefined };
}

/** What would end a name, or be read as part of an address, is written as %XX. Letters of all languages stay as they are. */
function escaped(name: string): string {
  return name.replaceAll(/[%/@#?\s\p{Cc}\p{Cf}]/gu, (character) => encodeURIComponent(character));
}

/** Several memories have the same key: one must be named by its uri. */
export function ambiguousKey(key: string, uris: readonly string[]): RathError {
  return new RathError("memory.ambiguous", `${key} is the key of ${uris.length} memories: name one of ${uris.join(", ")}.`, {
    details: { key, uris },
  });
}

export function noMemory(key: string): RathError {
  return new RathError("memory.not-found", `There is no memory ${key} here: search for it, or list what there is.`, { details: { key } });
}
