/** A checkout that is a copy of its base, for systems without overlays and for commands that run on the host itself. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Checkout } from "./checkout.ts";
import { copyWhole } from "./copying.ts";
import { type DiskLook, DiskUse } from "./disk-use.ts";
import { Place } from "./place.ts";
import { restore } from "./restore.ts";
import { type SnapshotOptions, snapshot } from "./snapshot.ts";
import { type Stamp, StatCache, stampOf } from "./stat-cache.ts";
import { emptyTree, type Trees } from "./tree.ts";

export interface CopyOptions {
  readonly kind: "reflink" | "copy";
  /** Of this checkout alone. */
  readonly directory: string;
  /** The tree of the base, and where it is. */
  readonly base: string;
  readonly from: string;
  readonly scan: Pick<SnapshotOptions, "limits" | "withhold">;
  /** Throws the directory away. */
  readonly discard: () => Promise<void>;
}

/** Holds the base at first. */
export async function openCopy(trees: Trees, options: CopyOptions): Promise<Checkout> {
  const files = join(options.directory, "files");
  await mkdir(files, { mode: 0o755 });
  const cache = new StatCache();
  if (await copyWhole(options.from, files)) await trust(trees, files, options.base, cache);
  else await restore(trees, files, emptyTree, options.base, { cache });
  return new Copy(options, files, cache);
}

class Copy implements Checkout {
  readonly kind: "reflink" | "copy";
  readonly directory: string;
  readonly inside = undefined;
  tree: string;
  readonly #options: CopyOptions;
  readonly #cache: StatCache;
  readonly #use: DiskUse;
  #before = 0;

  constructor(options: CopyOptions, files: string, cache: StatCache) {
    this.kind = options.kind;
    this.directory = files;
    this.tree = options.base;
    this.#options = options;
    this.#cache = cache;
    this.#use = new DiskUse(files);
  }

  async sync(trees: Trees, tree: string): Promise<void> {
    const now = await this.scan(trees);
    if (now !== tree) await restore(trees, this.directory, now, tree, { own: true, cache: this.#cache });
    this.tree = tree;
    this.#before = await this.#use.now();
  }

  async scan(trees: Trees): Promise<string> {
    const { tree } = await snapshot(trees, this.directory, {
      ...this.#options.scan,
      own: true,
      cache: this.#cache,
      before: this.tree,
    });
    this.tree = tree;
    return tree;
  }

  async written(when?: DiskLook): Promise<number> {
    return Math.max(0, (await this.#use.bytes(when)) - this.#before);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#options.discard();
  }
}

/** Tells the cache how the files of a fresh copy look, so that the first scan need not read them all. */
async function trust(trees: Trees, directory: string, tree: string, cache: StatCache): Promise<void> {
  const at = Date.now();
  const walk = async (place: Place, hash: string): Promise<void> => {
    const entries = await trees.directory(hash);
    const stamps = new Map<string, Stamp>();
    for (const [name, entry] of entries) {
      if (entry.type === "file") {
        const stat = place.stat(name);
        const stamp = stat?.isFile() && Number(stat.size) === entry.size ? stampOf(stat, at) : undefined;
        if (stamp !== undefined) stamps.set(name, stamp);
      } else if (entry.type === "directory") {
        const inner = place.enter(name);
        if (inner === undefined) continue;
        await walk(inner, entry.hash);
        inner.close();
      }
    }
    cache.set(place.path, { hash, entries, stamps });
  };
  const root = Place.open(directory);
  await walk(root, tree);
  root.close();
}
