/**
 * A checkout that lies over a base: what is written goes to a layer of its own, so making one costs nothing however large the base
 * is, and the layer is the list of what may have changed. What is there is asked of the merged view, never of the layer: nothing
 * that can be put into a layer, by whatever means, is taken for a sign that something was removed or replaced.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Checkout } from "./checkout.ts";
import { type DiskLook, DiskUse } from "./disk-use.ts";
import { holdNamespaces, type Namespaces } from "./namespace.ts";
import { Place } from "./place.ts";
import { restore } from "./restore.ts";
import { type SnapshotOptions, snapshot } from "./snapshot.ts";
import { StatCache } from "./stat-cache.ts";
import { type Directory, type Entry, sameEntry, sorted, type Trees } from "./tree.ts";

export interface OverlayOptions {
  /** Of this checkout alone. */
  readonly directory: string;
  /** The tree of the base, and where it is from `directory`. */
  readonly base: string;
  readonly lower: string;
  readonly network: boolean;
  readonly scan: Pick<SnapshotOptions, "limits" | "withhold">;
  /** Throws the directory away. */
  readonly discard: () => Promise<void>;
}

/** Holds the base at first. */
export async function openOverlay(options: OverlayOptions): Promise<Checkout> {
  const { directory, lower, network } = options;
  for (const name of ["upper", "work", "merged"]) await mkdir(join(directory, name), { mode: name === "upper" ? 0o755 : 0o700 });
  const held = await holdNamespaces({ network, overlay: { directory, lower, upper: "upper", work: "work", merged: "merged" } });
  return new Overlay(options, held);
}

class Overlay implements Checkout {
  readonly kind = "overlay";
  readonly directory: string;
  readonly inside: { readonly enter: readonly string[]; readonly directory: string };
  tree: string;
  readonly #options: OverlayOptions;
  readonly #held: Namespaces;
  readonly #cache = new StatCache();
  readonly #use: DiskUse;
  #before = 0;

  constructor(options: OverlayOptions, held: Namespaces) {
    const merged = join(options.directory, "merged");
    this.directory = held.outside(merged);
    this.inside = { enter: held.enter, directory: merged };
    this.tree = options.base;
    this.#options = options;
    this.#held = held;
    this.#use = new DiskUse(join(options.directory, "upper"));
  }

  async sync(trees: Trees, tree: string): Promise<void> {
    const now = await this.scan(trees);
    if (now !== tree) await restore(trees, this.directory, now, tree, { own: true, cache: this.#cache });
    await this.#held.check();
    this.tree = tree;
    this.#before = await this.#use.now();
  }

  async scan(trees: Trees): Promise<string> {
    await this.#held.check();
    const upper = Place.open(join(this.#options.directory, "upper"));
    try {
      const touched = new Touched(trees, upper, this.#options.base, this.tree);
      const { tree } = await snapshot(trees, this.directory, {
        ...this.#options.scan,
        own: true,
        cache: this.#cache,
        before: this.tree,
        known: (path, name) => touched.known(path, name),
      });
      await this.#held.check();
      this.tree = tree;
      return tree;
    } finally {
      upper.close();
    }
  }

  async written(when?: DiskLook): Promise<number> {
    return Math.max(0, (await this.#use.bytes(when)) - this.#before);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#held[Symbol.asyncDispose]();
    await this.#options.discard();
  }
}

/** A directory: the names in the layer, and what it was in the base and in the tree that it was brought to. */
interface Level {
  readonly names: ReadonlySet<string>;
  readonly base: Directory;
  readonly before: Directory;
}

/** Knows, of a name in the merged view, what it stands for when nobody touched it. */
class Touched {
  readonly #trees: Trees;
  readonly #upper: Place;
  readonly #base: string;
  readonly #before: string;
  readonly #seen = new Map<string, Level>();

  constructor(trees: Trees, upper: Place, base: string, before: string) {
    this.#trees = trees;
    this.#upper = upper;
    this.#base = base;
    this.#before = before;
  }

  async known(path: string, name: string): Promise<Entry | undefined> {
    const level = this.#seen.get(path) ?? (await this.#level(path));
    const entry = level.names.has(name) ? undefined : level.base.get(name);
    return entry === undefined ? undefined : this.#untouched(entry, level.before.get(name));
  }

  async #level(path: string): Promise<Level> {
    const names = new Set(namesAt(this.#upper, path));
    const level = { names, base: await this.#directory(this.#base, path), before: await this.#directory(this.#before, path) };
    this.#seen.set(path, level);
    return level;
  }

  async #directory(tree: string, path: string): Promise<Directory> {
    const entry = await this.#trees.entry(tree, path);
    return entry?.type === "directory" ? this.#trees.directory(entry.hash) : new Map();
  }

  /**
   * On disk it is as in the base, and that is as in the tree it was brought to, but for what cannot be made on a disk: of that, the
   * tree knows, and the base may know otherwise.
   */
  async #untouched(base: Entry, earlier: Entry | undefined): Promise<Entry | undefined> {
    if (sameEntry(base, earlier)) return base;
    if (base.type !== "directory") return isMade(base) ? base : undefined;
    const below = await this.#trees.directory(base.hash);
    const then = earlier?.type === "directory" ? await this.#trees.directory(earlier.hash) : new Map<string, Entry>();
    const entries = new Map<string, Entry>();
    for (const [name, entry] of below) {
      const now = isMade(entry) ? await this.#untouched(entry, then.get(name)) : undefined;
      if (now !== undefined) entries.set(name, now);
    }
    for (const [name, entry] of then) if (!isMade(entry) && !entries.has(name)) entries.set(name, entry);
    return { ...base, hash: await this.#trees.store(sorted(entries)) };
  }
}

function isMade({ type }: Entry): boolean {
  return type === "file" || type === "directory" || type === "link" || type === "fifo";
}

/** The names in a directory of the layer; none when it is not in there. */
function namesAt(upper: Place, path: string): readonly string[] {
  let place = upper;
  try {
    for (const step of path === "" ? [] : path.split("/")) {
      const inner = place.enter(step);
      if (place !== upper) place.close();
      if (inner === undefined) {
        place = upper;
        return [];
      }
      place = inner;
    }
    return place.names();
  } finally {
    if (place !== upper) place.close();
  }
}
