/** What the tests of the memory contract are made of. */
import type { MemoryHit, MemoryItem, MemoryQuery, MemoryStore, MemoryWrite, MemoryWritten } from "../memory/memory.ts";

/** Opens another store over what this one has kept. */
export type ReopenMemory = (store: MemoryStore) => Promise<MemoryStore>;

/** One test of the suite. */
export interface MemoryCase {
  readonly name: string;
  run(store: MemoryStore, reopen: ReopenMemory): Promise<void>;
  /** It needs `reopen`. */
  readonly reopens?: boolean;
}

/** A published item of the project; its uri follows its key, its event its version. */
export function item(key: string, content: string, over: Partial<MemoryItem> = {}): MemoryItem {
  const version = over.version ?? 1;
  return {
    uri: `memory://project/${key}`,
    key,
    content,
    scope: "project",
    owner: undefined,
    version,
    state: "published",
    origin: "model",
    trust: "trusted",
    because: [],
    from: [],
    event: `event of ${over.uri ?? key} ${version}`,
    session: "session",
    by: "agent",
    at: new Date(1_700_000_000_000 + version).toISOString(),
    ...over,
  };
}

/** Writes items, each over the version before its own. */
export function put(store: MemoryStore, ...items: readonly MemoryItem[]): Promise<MemoryWritten> {
  return store.write(items.map((one): MemoryWrite => ({ item: one, based: one.version - 1 })));
}

export function search(store: MemoryStore, text: string, over: Partial<MemoryQuery> = {}): Promise<readonly MemoryHit[]> {
  return store.search({ text, within: ["memory://"], limit: 5, ...over });
}

/** The keys of what is found, best first. */
export async function keys(store: MemoryStore, text: string, over: Partial<MemoryQuery> = {}): Promise<string[]> {
  return (await search(store, text, over)).map(({ key }) => key);
}
