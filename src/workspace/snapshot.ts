/**
 * Scans a directory of the host into a tree. Names are bytes, links are never followed, special files are noted and not opened.
 * What looks as it did before is not read again. Other programs may change the directory meanwhile: each file is as it was at one
 * moment, and what disappears during the scan is not there.
 */
import { createHash } from "node:crypto";
import type { BigIntStats } from "node:fs";
import { RathError } from "../session/errors.ts";
import { type Content, look, readContent, readLink, readProblem } from "./content.ts";
import type { Ignore } from "./ignore.ts";
import { isCode, Place } from "./place.ts";
import { Slices } from "./slices.ts";
import { type SnapshotLimits, snapshotLimits, tooLarge } from "./snapshot-limits.ts";
import { type CachedDirectory, looksLike, type Stamp, type StatCache, stampOf } from "./stat-cache.ts";
import { type Directory, type Entry, sameEntry, sorted, type Trees } from "./tree.ts";

export interface SnapshotOptions {
  /** What is left out. Default: nothing is. */
  readonly ignore?: Ignore | undefined;
  /** Known from earlier scans of the same directory; it is brought up to date when the scan is done. */
  readonly cache?: StatCache | undefined;
  readonly limits?: Partial<SnapshotLimits> | undefined;
  /** True for content that must not be stored. Files that a cache knows were asked about when they were read. */
  readonly withhold?: ((bytes: Uint8Array, path: string) => boolean) | undefined;
  /** The directory is ours: what cannot be read is made readable for the moment. */
  readonly own?: boolean | undefined;
  /**
   * The tree that the directory was brought to. What could not be made there (sockets, devices, withheld files) is taken over where
   * its directory still is and nothing else took its place; not so what the cache has seen there, since then somebody removed it.
   */
  readonly before?: string | undefined;
  /** What is known of a name in a directory without a look at it; undefined when it has to be looked at. */
  readonly known?: ((directory: string, name: string) => Promise<Entry | undefined>) | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: { readonly files: number; readonly bytes: number }) => void) | undefined;
}

export interface Snapshot {
  readonly tree: string;
  /** Everything that is no directory. */
  readonly files: number;
  readonly bytes: number;
  /** How many files had to be read. */
  readonly hashed: number;
  /** Paths whose content is not kept. */
  readonly withheld: readonly string[];
  /** Paths of directories that are left out of the tree and shared read-only. */
  readonly layers: readonly string[];
}

/** The tree of what is in a directory. */
export async function snapshot(trees: Trees, directory: string, options: SnapshotOptions = {}): Promise<Snapshot> {
  const scan = new Scan(trees, options);
  const root = Place.open(directory);
  try {
    const tree = await scan.directory(root, 0, options.before);
    options.cache?.replace(scan.found);
    const { files, bytes, hashed, withheld, layers } = scan;
    return { tree, files, bytes, hashed, withheld, layers };
  } finally {
    root.close();
  }
}

/** A directory while it is scanned. */
interface Draft {
  readonly place: Place;
  readonly depth: number;
  readonly cached: CachedDirectory | undefined;
  readonly before: Directory | undefined;
  readonly entries: Map<string, Entry>;
  readonly stamps: Map<string, Stamp>;
  /** Contents on their way to the store. */
  readonly puts: Promise<unknown>[];
}

class Scan {
  files = 0;
  bytes = 0;
  hashed = 0;
  readonly withheld: string[] = [];
  readonly layers: string[] = [];
  readonly found = new Map<string, CachedDirectory>();
  readonly #trees: Trees;
  readonly #options: SnapshotOptions;
  readonly #limits: SnapshotLimits;
  readonly #slices: Slices;
  #named = 0;
  #waiting = 0;

  constructor(trees: Trees, options: SnapshotOptions) {
    this.#trees = trees;
    this.#options = options;
    this.#limits = { ...snapshotLimits, ...options.limits };
    this.#slices = new Slices(options.signal);
  }

  /** The hash of a directory's node, after all below it is stored. */
  async directory(place: Place, depth: number, before: string | undefined): Promise<string> {
    if (depth > this.#limits.depth) throw tooLarge("depth", this.#limits.depth, place.path);
    const cached = this.#options.cache?.get(place.path);
    const draft: Draft = {
      place,
      depth,
      cached,
      before: before === undefined ? undefined : before === cached?.hash ? cached.entries : await this.#trees.directory(before),
      entries: new Map(),
      stamps: new Map(),
      puts: [],
    };
    for (const name of this.#names(place)) {
      if (this.#slices.due) await this.#rest();
      if (this.#options.known !== undefined && (await this.#told(draft, name))) continue;
      const stat = this.#glance(draft, name);
      if (stat !== undefined) await this.#visit(draft, name, stat);
    }
    await this.#arrived(draft);
    this.#carryOver(draft);
    return this.#finish(draft);
  }

  async #rest(): Promise<void> {
    this.#options.onProgress?.({ files: this.files, bytes: this.bytes });
    await this.#slices.rest();
  }

  #names(place: Place): readonly string[] {
    try {
      const names = place.names();
      this.#named += names.length;
      if (this.#named > this.#limits.files) throw tooLarge("files", this.#limits.files, place.path);
      return names;
    } catch (error) {
      throw readProblem(error, place.path === "" ? "." : place.path);
    }
  }

  /** Takes what somebody else knows for sure. */
  async #told(draft: Draft, name: string): Promise<boolean> {
    const entry = await this.#options.known?.(draft.place.path, name);
    if (entry === undefined) return false;
    draft.entries.set(name, entry);
    if (entry.type !== "directory") this.files++;
    return true;
  }

  /** Settles what needs no more than a look, which is nearly everything in a directory that is known. Gives the look of the rest. */
  #glance(draft: Draft, name: string): BigIntStats | undefined {
    const stat = look(draft.place, name);
    if (stat === undefined || !this.#belongs(draft.place.below(name), stat)) return undefined;
    const entry = this.#seen(draft, name, stat);
    if (entry === undefined) return stat;
    this.files++;
    this.#note(draft, name, entry);
    return undefined;
  }

  #note({ entries, stamps }: Draft, name: string, entry: Entry): void {
    entries.set(name, entry);
    if (isUnmade(entry)) stamps.set(name, there);
  }

  #belongs(path: string, stat: BigIntStats): boolean {
    if (this.#options.ignore === undefined) return true;
    const verdict = this.#options.ignore.verdict(path, stat.isDirectory());
    if (verdict === "layer") this.layers.push(path);
    return verdict === "keep";
  }

  async #visit(draft: Draft, name: string, first: BigIntStats): Promise<void> {
    const { place } = draft;
    let stat: BigIntStats | undefined = first;
    for (let tries = 1; tries <= patience && stat !== undefined; tries++) {
      const entry = await this.#read(draft, name, stat, tries === patience);
      if (entry !== undefined) {
        if (entry !== "pending") this.#note(draft, name, entry);
        if (!stat.isDirectory()) this.files++;
        return;
      }
      stat = this.#glance(draft, name);
    }
    if (stat === undefined) return;
    throw new RathError("workspace.changed", `${JSON.stringify(place.below(name))} is replaced again and again: nothing could be read.`, {
      details: { paths: [place.below(name)] },
      retryable: true,
    });
  }

  /** What is known of an entry by the look of it. */
  #seen({ place, cached, stamps }: Draft, name: string, stat: BigIntStats): Entry | undefined {
    if (stat.isFile()) {
      if (stat.size > this.#limits.file) return this.#withhold(place.below(name), "size", Number(stat.size));
      const stamp = cached?.stamps.get(name);
      if (stamp === undefined || !looksLike(stat, stamp)) return undefined;
      stamps.set(name, stamp);
      this.#count(Number(stat.size), place.below(name));
      return cached?.entries.get(name);
    }
    if (stat.isFIFO()) return { type: "fifo" };
    if (stat.isSocket()) return { type: "socket" };
    return stat.isSymbolicLink() || stat.isDirectory() ? undefined : { type: "device" };
  }

  /** The entry, "pending" when its content is on the way to the store, or undefined when something else is there by now. */
  async #read(draft: Draft, name: string, stat: BigIntStats, last: boolean): Promise<Entry | "pending" | undefined> {
    if (stat.isDirectory()) return this.#enter(draft, name, stat);
    if (stat.isSymbolicLink()) return readLink(draft.place, name);
    const at = Date.now();
    const content = await readContent(draft.place, name, stat, { own: this.#options.own ?? false, slices: this.#slices });
    // A file that somebody writes all the time is taken as it was read last.
    if (content === undefined || !(content.steady || last)) return undefined;
    return this.#keep(draft, name, content, at);
  }

  async #enter({ place, depth, cached, before }: Draft, name: string, stat: BigIntStats): Promise<Entry | undefined> {
    const mode = Number(stat.mode) & 0o777;
    const inner = place.enter(name);
    if (inner === undefined) return undefined;
    const opened = (this.#options.own ?? false) && (mode & 0o500) !== 0o500;
    try {
      if (opened) inner.chmodSelf(mode | 0o500);
      const earlier = before?.get(name);
      const hash = await this.directory(inner, depth + 1, earlier?.type === "directory" ? earlier.hash : undefined);
      const known = cached?.entries.get(name);
      return known?.type === "directory" && known.hash === hash && known.mode === mode ? known : { type: "directory", mode, hash };
    } catch (error) {
      if (isCode(error, "ENOENT") && place.stat(name)?.ino !== stat.ino) return undefined;
      throw error;
    } finally {
      if (opened) inner.chmodSelf(mode);
      inner.close();
    }
  }

  async #keep(draft: Draft, name: string, { bytes, stat, steady }: Content, at: number): Promise<Entry | "pending"> {
    const path = draft.place.below(name);
    if (this.#options.withhold?.(bytes, path) === true) return this.#withhold(path, "secret", bytes.length);
    this.hashed++;
    this.#count(bytes.length, path);
    const stamp = steady ? stampOf(stat, at) : undefined;
    if (stamp !== undefined) draft.stamps.set(name, stamp);
    const mode = Number(stat.mode) & 0o777;
    const known = draft.cached?.entries.get(name);
    if (known?.type === "file" && known.size === bytes.length && known.hash === (await this.#digest(bytes)))
      return known.mode === mode ? known : { ...known, mode };
    draft.entries.set(name, placeholder);
    const put = this.#trees.objects.put(bytes).then((hash) => {
      draft.entries.set(name, { type: "file", mode, size: bytes.length, hash });
    });
    // It is awaited below; should something else fail first, nobody would be left to hear of it.
    put.catch(() => undefined);
    draft.puts.push(put);
    this.#waiting += bytes.length + 1024;
    if (this.#waiting > onTheWay) await this.#arrived(draft);
    return "pending";
  }

  async #arrived(draft: Draft): Promise<void> {
    await Promise.all(draft.puts);
    draft.puts.length = 0;
    this.#waiting = 0;
  }

  async #digest(bytes: Buffer): Promise<string> {
    const digest = createHash("sha256");
    for (let at = 0; at < bytes.length; at += 1 << 20) {
      digest.update(bytes.subarray(at, at + (1 << 20)));
      if (this.#slices.due) await this.#rest();
    }
    return digest.digest("hex");
  }

  #withhold(path: string, why: "size" | "secret", size: number): Entry {
    this.withheld.push(path);
    return { type: "withheld", why, size };
  }

  #count(size: number, path: string): void {
    this.bytes += size;
    if (this.bytes > this.#limits.total) throw tooLarge("total", this.#limits.total, path);
  }

  #carryOver({ place, before, cached, entries }: Draft): void {
    for (const [name, entry] of before ?? []) {
      if (!isUnmade(entry) || cached?.stamps.has(name) === true) continue;
      if (entries.has(name) || look(place, name) !== undefined) continue;
      entries.set(name, entry);
      this.files++;
      if (entry.type === "withheld") this.withheld.push(place.below(name));
    }
  }

  async #finish({ place, cached, entries, stamps }: Draft): Promise<string> {
    let record = cached;
    if (cached === undefined || !sameDirectory(cached.entries, entries)) {
      const ordered = sorted(entries);
      record = { hash: await this.#trees.store(ordered), entries: ordered, stamps };
    } else record = { ...cached, stamps };
    this.found.set(place.path, record);
    return record.hash;
  }
}

/** How often something is looked at that changes while it is read. */
const patience = 5;
/** Bytes that may wait for the store at a time. */
const onTheWay = 8 * 2 ** 20;
const placeholder: Entry = { type: "device" };
/** Says of something whose content is not kept that it was on the disk. No file looks like this, so it is never trusted as a look. */
const there: Stamp = { size: 0n, mode: 0n, ino: 0n, mtimeNs: 0n, ctimeNs: 0n };

/** True for what a restore cannot make. */
function isUnmade({ type }: Entry): boolean {
  return type === "withheld" || type === "socket" || type === "device";
}

function sameDirectory(a: Directory, b: Directory): boolean {
  if (a.size !== b.size) return false;
  for (const [name, entry] of b) if (!sameEntry(entry, a.get(name))) return false;
  return true;
}
