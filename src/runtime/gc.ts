/**
 * Sweeps a store: blobs go that no event names and no tree reaches. Everything reachable is found first, by walking every log and
 * every tree; what cannot be read stops the sweep before anything is removed, since what lies behind it is not known.
 */
import { dataText } from "../session/codec.ts";
import { blobsIn, treesIn } from "../session/json.ts";
import type { Platform } from "../session/platform.ts";
import type { Store, StoredEvent } from "../store/store.ts";
import { missing } from "../workspace/objects.ts";
import { decodeDirectory, emptyTree } from "../workspace/tree.ts";

export interface SweepStoreOptions {
  readonly platform: Platform;
  /** What was put or touched since then stays, whoever names it: its event may be on the way. */
  readonly before: Date;
  readonly dryRun: boolean;
  /** Trees that stay though no event names them. */
  readonly trees?: readonly string[] | undefined;
  readonly onEvent?: (() => void) | undefined;
}

export interface Swept {
  readonly blobs: number;
  /** As they lay in the store. */
  readonly bytes: number;
}

/** What was removed, or would be; undefined when the store cannot do it. */
export async function sweepStore(store: Store, options: SweepStoreOptions): Promise<Swept | undefined> {
  if (store.sweep === undefined) return undefined;
  const { before, dryRun, trees = [], platform, onEvent = () => {} } = options;
  const keeping = async (events: AsyncIterable<StoredEvent>): Promise<(hash: string) => boolean> => {
    const found = new Reachable(store);
    for (const tree of trees) await found.addKnownTree(tree);
    for await (const { data } of events) {
      onEvent();
      if (data !== undefined) await found.addText(dataText(platform, data));
    }
    return (hash) => found.blobs.has(hash);
  };
  let [blobs, bytes] = [0, 0];
  for await (const gone of store.sweep({ before: before.toISOString(), dryRun, keeping })) {
    blobs++;
    bytes += gone.bytes;
  }
  return { blobs, bytes };
}

class Reachable {
  readonly blobs = new Set<string>();
  readonly #store: Store;
  /** Nodes that were read; a file with the same bytes as a directory is no directory. */
  readonly #directories = new Set<string>([emptyTree]);

  constructor(store: Store) {
    this.#store = store;
  }

  async addText(text: string): Promise<void> {
    for (const blob of blobsIn(text)) this.blobs.add(blob);
    for (const tree of treesIn(text)) await this.#addTree(tree);
  }

  /** A tree that may be gone already, as a whole. */
  async addKnownTree(tree: string): Promise<void> {
    if (tree === emptyTree || (await this.#store.blob(tree)) !== undefined) await this.#addTree(tree);
  }

  /** Without recursion: a tree may be deeper than the call stack. */
  async #addTree(tree: string): Promise<void> {
    const waiting = [tree];
    for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
      if (this.#directories.has(name)) continue;
      this.#directories.add(name);
      this.blobs.add(name);
      const bytes = await this.#store.blob(name);
      if (bytes === undefined) throw missing(name);
      for (const entry of decodeDirectory(bytes).values()) {
        if (entry.type === "directory") waiting.push(entry.hash);
        else if (entry.type === "file") this.blobs.add(entry.hash);
      }
    }
  }
}
