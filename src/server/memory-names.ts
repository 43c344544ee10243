/** Which memories a caller sees: everybody's in the project, and of those that belong to people their own, unless the caller acts for people. To others they are not there. */
import type { MemoryRecord } from "../memory/memory.ts";
import { ambiguousKey, isMemoryUri, noMemory, readVersionName } from "../session/memory-uri.ts";
import type { MemoryItem } from "../session/session.ts";
import type { Caller } from "./caller.ts";
import type { Call } from "./route.ts";

export function isVisible({ identity, permissions }: Caller, { scope, owner }: Pick<MemoryItem, "scope" | "owner">): boolean {
  return scope !== "user" || owner === identity || permissions.has("people:act");
}

/** Whose own memories are looked through; undefined: everybody's. */
export function userOf({ identity, permissions }: Caller): string | undefined {
  return permissions.has("people:act") ? undefined : identity;
}

/** A memory by its key, its uri or "uri@version", as the library takes it: a uri, with the version that was named. */
export async function visibleName({ runtime, caller }: Pick<Call, "runtime" | "caller">, name: string): Promise<string> {
  const read = readVersionName(name);
  const uri = isMemoryUri(name) ? read.uri : undefined;
  const found: MemoryRecord[] = [];
  for await (const record of (await runtime.memories.store()).list(uri === undefined ? { key: name } : { uri }))
    if (isVisible(caller, record)) found.push(record);
  const alive = found.filter(({ state }) => state === "published");
  const [only, ...others] = alive.length > 0 ? alive : found;
  if (only === undefined) throw noMemory(name);
  if (others.length > 0)
    throw ambiguousKey(
      name,
      [only, ...others].map((one) => one.uri),
    );
  return uri === undefined || read.version === undefined ? only.uri : name;
}
