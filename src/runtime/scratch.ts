/**
 * A runtime for work that leaves nothing behind: it reads the store of another one, and what it writes is kept in memory for as long
 * as somebody uses it. Sandboxes are real; whoever made it closes them.
 */

import type { MemoryStore } from "../memory/memory.ts";
import { TreeName } from "../session/json.ts";
import type { Node } from "../session/log.ts";
import type { Store } from "../store/store.ts";
import type { Runtime } from "./runtime.ts";
import type { Captured } from "./services.ts";

/** What was found in the directory that a placement named. */
export interface Found {
  readonly placement: Node;
  readonly captured: Captured;
}

/** The files of directories are those that were found then, not those that are there now. */
export function scratchOf(runtime: Runtime, found: readonly Found[]): Runtime & AsyncDisposable {
  const scratch = runtime.with({
    openStore: async () => readOnly(await runtime.store()),
    openMemory: async () => onlyRead(await runtime.memories.store()),
  });
  for (const { placement, captured } of found) {
    const { event: _, ...said } = captured;
    scratch.effects.journal("workspace.captured", { ...said, placement: placement.id, tree: new TreeName(said.tree) });
  }
  return Object.assign(scratch, {
    [Symbol.asyncDispose]: async () => {
      await scratch.sandboxes.closeAll();
      scratch.effects.close();
    },
  });
}

/** Takes every write and stores none of it; contents can be read back. */
function readOnly(store: Store): Store {
  const written = new Map<string, Uint8Array>();
  return {
    append: async ({ blobs = [] }) => {
      for (const { hash, bytes } of blobs) written.set(hash, bytes);
      return { ok: true };
    },
    events: (query) => store.events(query),
    feed: (query) => store.feed(query),
    fedTo: () => store.fedTo(),
    sessions: (query) => store.sessions(query),
    branches: (parents) => store.branches(parents),
    runs: (query) => store.runs(query),
    claim: async () => undefined,
    take: async () => [],
    renew: async () => undefined,
    release: async () => {},
    blob: async (hash) => written.get(hash) ?? store.blob(hash),
    [Symbol.asyncDispose]: async () => {},
  };
}

/** The same of memory: a branch sees what it wrote itself, and nobody else does. */
function onlyRead(store: MemoryStore): MemoryStore {
  return {
    embedder: store.embedder,
    revision: () => store.revision(),
    write: async (writes) => {
      const revision = await store.revision();
      return { revision, written: writes.map(({ item }) => ({ ...item, revision })), refused: [] };
    },
    search: (query) => store.search(query),
    list: (query) => store.list(query),
    used: async () => {},
    uses: (uri) => store.uses(uri),
    [Symbol.asyncDispose]: async () => {},
  };
}
