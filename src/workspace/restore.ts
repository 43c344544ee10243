/**
 * Brings a directory that holds one tree to another, by what differs. Nothing is written through a link: directories are entered
 * one by one (place.ts). Files appear whole, under a temporary name first. Permissions are exact at the end. Sockets, devices and
 * withheld contents cannot be made; a later snapshot takes them over from the tree.
 */
import { type BigIntStats, mkdirSync, rmdirSync } from "node:fs";
import { RathError } from "../session/errors.ts";
import { isCode, Place } from "./place.ts";
import { clear, unlink } from "./remove.ts";
import { Slices } from "./slices.ts";
import { type Stamp, type StatCache, stampOf } from "./stat-cache.ts";
import { type Directory, type Entry, emptyTree, sameEntry, type Trees } from "./tree.ts";
import { makeFifos, makeFile, makeLink, settle } from "./write.ts";

export interface RestoreOptions {
  /**
   * The directory is ours, and nobody else writes to it: whatever is in the way goes, and directories are opened for writing while
   * they are changed. Otherwise only what the trees name is touched, what cannot be made is left alone, and a directory that is
   * something else by now is refused. Default true.
   */
  readonly own?: boolean | undefined;
  /** Told how the new files look, so that the next scan does not read them. */
  readonly cache?: StatCache | undefined;
  /** Asked just before something is made, replaced or removed, with how it looks now. Throws to refuse. */
  readonly guard?: ((path: string, stat: BigIntStats | undefined) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Makes a directory that holds the tree `from` hold the tree `to`. */
export async function restore(trees: Trees, directory: string, from: string, to: string, options: RestoreOptions = {}): Promise<void> {
  if (from === to) return;
  const root = Place.open(directory);
  try {
    const restoring = new Restoring(trees, options);
    await restoring.directory(root, from, to);
    restoring.remember();
  } catch (error) {
    if (!isCode(error, "ENAMETOOLONG", "EILSEQ")) throw error;
    throw new RathError("workspace.invalid", `The tree ${to} has a name that this file system cannot hold.`, { cause: error });
  } finally {
    root.close();
  }
}

type FileEntry = Extract<Entry, { type: "file" }>;
type DirectoryEntry = Extract<Entry, { type: "directory" }>;

/** A directory that was brought to its tree, with how its new files looked. */
interface Written {
  readonly path: string;
  readonly hash: string;
  readonly entries: Directory;
  readonly looks: Map<string, BigIntStats>;
}

class Restoring {
  readonly #trees: Trees;
  readonly #options: RestoreOptions;
  readonly #own: boolean;
  readonly #slices: Slices;
  readonly #written: Written[] = [];
  /** Directories that were removed. */
  readonly #gone = new Set<string>();

  constructor(trees: Trees, options: RestoreOptions) {
    this.#trees = trees;
    this.#options = options;
    this.#own = options.own ?? true;
    this.#slices = new Slices(options.signal);
  }

  async directory(place: Place, from: string, to: string): Promise<void> {
    const before = await this.#trees.directory(from);
    const after = await this.#trees.directory(to);
    // Removing goes first: where names differ by case alone, the old one must not take the new one with it.
    for (const [name, entry] of before) {
      const next = after.get(name);
      if (entry.type === "directory" && next?.type !== "directory") this.#gone.add(place.below(name));
      if (!sameEntry(entry, next)) await this.#makeRoom(place, name, entry, next);
    }
    const files: [string, FileEntry][] = [];
    const fifos: string[] = [];
    const looks = new Map<string, BigIntStats>();
    for (const [name, entry] of after) {
      const earlier = before.get(name);
      if (sameEntry(earlier, entry)) continue;
      if (this.#slices.due) await this.#slices.rest();
      if (entry.type === "directory") await this.#enter(place, name, earlier, entry);
      else if (entry.type === "link") await this.#settle(place, makeLink(place, entry.target), name);
      else if (entry.type === "fifo") fifos.push(name);
      else if (entry.type === "file" && !this.#onlyMode(place, name, earlier, entry, looks)) files.push([name, entry]);
    }
    await this.#write(place, files, looks);
    for (const [index, made] of (await makeFifos(place, fifos.length)).entries()) await this.#settle(place, made, fifos[index] as string);
    if (this.#options.cache !== undefined) this.#written.push({ path: place.path, hash: to, entries: after, looks });
  }

  /** Tells the cache about the new files. Nobody else wrote meanwhile, so they count as seen now. */
  remember(): void {
    const { cache } = this.#options;
    if (cache === undefined) return;
    cache.forget(this.#gone);
    const now = Date.now();
    for (const { path, hash, entries, looks } of this.#written) {
      const known = cache.get(path);
      const stamps = new Map<string, Stamp>();
      for (const [name, entry] of entries) {
        const look = looks.get(name);
        const stamp = look !== undefined ? stampOf(look, now) : sameEntry(known?.entries.get(name), entry) && known?.stamps.get(name);
        if (stamp) stamps.set(name, stamp);
      }
      cache.set(path, { hash, entries, stamps });
    }
  }

  /** Removes what was there, unless what comes takes its place by itself. */
  async #makeRoom(place: Place, name: string, earlier: Entry, next: Entry | undefined): Promise<void> {
    if (this.#slices.due) await this.#slices.rest();
    if (next?.type === "directory" && earlier.type === "directory") return;
    if (this.#own) {
      if (next === undefined || !isMade(next) || (earlier.type === "directory") !== (next.type === "directory"))
        await clear(place, name, this.#slices);
    } else if (isMade(earlier) && (next === undefined || (earlier.type === "directory") !== (next.type === "directory"))) {
      await this.#removeNamed(place, name, earlier);
    }
  }

  /** Removes from somebody else's directory what a tree names, and nothing beside it. */
  async #removeNamed(place: Place, name: string, entry: Entry): Promise<void> {
    const stat = place.stat(name);
    if (stat === undefined || !isMade(entry)) return;
    if (stat.isDirectory() !== (entry.type === "directory")) throw inTheWay(place.below(name));
    this.#options.guard?.(place.below(name), stat);
    if (entry.type !== "directory") return unlink(place, name);
    const inner = place.enter(name);
    if (inner === undefined) throw inTheWay(place.below(name));
    try {
      for (const [child, below] of await this.#trees.directory(entry.hash)) {
        if (this.#slices.due) await this.#slices.rest();
        await this.#removeNamed(inner, child, below);
      }
    } finally {
      inner.close();
    }
    try {
      rmdirSync(place.at(name));
    } catch (error) {
      // What the tree does not name keeps its directory.
      if (!isCode(error, "ENOTEMPTY", "EEXIST")) throw error;
    }
  }

  async #enter(place: Place, name: string, earlier: Entry | undefined, entry: DirectoryEntry): Promise<void> {
    let from = earlier?.type === "directory" ? earlier.hash : emptyTree;
    let inner = place.enter(name);
    if (inner !== undefined && this.#own && earlier?.type !== "directory") {
      inner.close();
      inner = undefined;
    }
    const found = inner !== undefined;
    if (inner === undefined) {
      inner = await this.#makeDirectory(place, name);
      // In somebody else's directory, what they removed stays removed.
      if (this.#own) from = emptyTree;
    }
    try {
      if (found && this.#own && (mode(place, name) & 0o700) !== 0o700) inner.chmodSelf(0o700);
      if (from !== entry.hash) await this.directory(inner, from, entry.hash);
      const changed = this.#own
        ? mode(place, name) !== entry.mode
        : !found || (earlier?.type === "directory" && earlier.mode !== entry.mode);
      if (changed) inner.chmodSelf(entry.mode);
    } finally {
      inner.close();
    }
  }

  async #makeDirectory(place: Place, name: string): Promise<Place> {
    if (this.#own) await clear(place, name, this.#slices);
    else if (place.stat(name) !== undefined) throw inTheWay(place.below(name));
    mkdirSync(place.at(name), 0o700);
    const inner = place.enter(name);
    if (inner === undefined) throw inTheWay(place.below(name));
    return inner;
  }

  /** Changes permissions alone where the content is the same, unless the file has other names, which would change with it. */
  #onlyMode(place: Place, name: string, earlier: Entry | undefined, entry: FileEntry, looks: Map<string, BigIntStats>): boolean {
    if (earlier?.type !== "file" || earlier.hash !== entry.hash) return false;
    const stat = place.stat(name);
    if (stat === undefined || !stat.isFile() || stat.nlink !== 1n) return false;
    this.#options.guard?.(place.below(name), stat);
    place.chmod(name, entry.mode);
    this.#look(place, name, looks);
    return true;
  }

  async #write(place: Place, files: readonly [string, FileEntry][], looks: Map<string, BigIntStats>): Promise<void> {
    for (const batch of batches(files)) {
      const contents = await Promise.all(batch.map(([, entry]) => this.#trees.objects.get(entry.hash)));
      for (const [index, [name, entry]] of batch.entries()) {
        await this.#writeFile(place, name, entry, contents[index] as Uint8Array);
        this.#look(place, name, looks);
        if (this.#slices.due) await this.#slices.rest();
      }
    }
  }

  async #writeFile(place: Place, name: string, entry: FileEntry, bytes: Uint8Array): Promise<void> {
    // Nobody looks at a directory of ours while it changes, so a new file needs no other name first.
    if (this.#own && place.stat(name) === undefined) await makeFile(place, bytes, entry.mode, this.#slices, name);
    else await this.#settle(place, await makeFile(place, bytes, entry.mode, this.#slices), name);
  }

  #look(place: Place, name: string, looks: Map<string, BigIntStats>): void {
    const look = this.#options.cache === undefined ? undefined : place.stat(name);
    if (look !== undefined) looks.set(name, look);
  }

  async #settle(place: Place, made: string, name: string): Promise<void> {
    try {
      this.#options.guard?.(place.below(name), place.stat(name));
      settle(place, made, name);
    } catch (error) {
      if (!isCode(error, "EISDIR", "ENOTEMPTY", "EEXIST") || !this.#own) {
        unlink(place, made);
        throw isCode(error, "EISDIR") ? inTheWay(place.below(name)) : error;
      }
      await clear(place, name, this.#slices);
      settle(place, made, name);
    }
  }
}

/** True for what a restore can make, and so may remove. */
function isMade({ type }: Entry): boolean {
  return type === "file" || type === "directory" || type === "link" || type === "fifo";
}

function mode(place: Place, name: string): number {
  return Number(place.stat(name)?.mode ?? 0n) & 0o777;
}

/** Files whose contents are fetched together: a few at a time, and not much memory. */
function* batches(files: readonly [string, FileEntry][]): Iterable<readonly [string, FileEntry][]> {
  let batch: [string, FileEntry][] = [];
  let size = 0;
  for (const file of files) {
    if (batch.length === 16 || (batch.length > 0 && size + file[1].size > 16 * 2 ** 20)) {
      yield batch;
      batch = [];
      size = 0;
    }
    batch.push(file);
    size += file[1].size;
  }
  if (batch.length > 0) yield batch;
}

function inTheWay(path: string): RathError {
  return new RathError("workspace.changed", `Something else is at ${JSON.stringify(path)} than the tree says: nothing was written there.`, {
    details: { paths: [path] },
  });
}
