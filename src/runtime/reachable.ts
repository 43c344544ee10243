/** Blobs that events reach: those they name, and through the trees they name every directory and content. */
import { blobsIn, treesIn } from "../session/json.ts";
import type { Store } from "../store/store.ts";
import { missing } from "../workspace/objects.ts";
import { decodeDirectory, emptyTree } from "../workspace/tree.ts";

export class Reachable {
  /** Each with an event that reaches it. */
  readonly blobs = new Map<string, string>();
  /** Those that events name themselves, not through a tree. */
  readonly direct = new Set<string>();
  readonly #store: Pick<Store, "blob">;
  readonly #mayMiss: boolean;
  /** Nodes that were read; a file with the same bytes as a directory is no directory. */
  readonly #directories = new Set<string>([emptyTree]);

  constructor(store: Pick<Store, "blob">, mayMiss = false) {
    this.#store = store;
    this.#mayMiss = mayMiss;
  }

  async addText(text: string, event: string): Promise<void> {
    for (const blob of blobsIn(text)) {
      this.#add(blob, event);
      this.direct.add(blob);
    }
    for (const tree of treesIn(text)) await this.#addTree(tree, event);
  }

  /** A tree that may be gone already, as a whole. */
  async addKnownTree(tree: string): Promise<void> {
    if (tree === emptyTree || (await this.#store.blob(tree)) !== undefined) await this.#addTree(tree, "");
  }

  #add(blob: string, event: string): void {
    if (!this.blobs.has(blob)) this.blobs.set(blob, event);
  }

  /** Without recursion: a tree may be deeper than the call stack. */
  async #addTree(tree: string, event: string): Promise<void> {
    const waiting = [tree];
    for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
      if (this.#directories.has(name)) continue;
      this.#directories.add(name);
      this.#add(name, event);
      const bytes = await this.#store.blob(name);
      if (bytes === undefined && this.#mayMiss) continue;
      if (bytes === undefined) throw missing(name);
      for (const entry of decodeDirectory(bytes).values()) {
        if (entry.type === "directory") waiting.push(entry.hash);
        else if (entry.type === "file") this.#add(entry.hash, event);
      }
    }
  }
}
