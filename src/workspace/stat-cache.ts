/**
 * What the files of a directory looked like when they were hashed, so that files which look the same are not read again and
 * directories in which nothing changed are not encoded again. It trusts size, permissions, inode and both times to the nanosecond;
 * the time of change cannot be set by a program. Files that changed just before they were hashed are not trusted, since clocks of
 * file systems tick: another write in the same tick would look the same.
 *
 * What it knows is taken to be in the content store: a cache belongs to one store, and is dropped when objects are.
 */
import { hash as digest } from "node:crypto";
import type { BigIntStats } from "node:fs";
import { ByteReader, ByteWriter } from "./byte-stream.ts";
import type { Directory, Entry } from "./tree.ts";

/** How a file looked. */
export interface Stamp {
  readonly size: bigint;
  readonly mode: bigint;
  readonly ino: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
}

/** A directory as it was found: its node, and how those files looked that can be trusted. */
export interface CachedDirectory {
  readonly hash: string;
  readonly entries: Directory;
  readonly stamps: ReadonlyMap<string, Stamp>;
}

export class StatCache {
  #directories: Map<string, CachedDirectory>;

  constructor(directories: Map<string, CachedDirectory> = new Map()) {
    this.#directories = directories;
  }

  /** A cache from `toBytes`. Whatever cannot be read gives an empty one: then everything is hashed once more. */
  static from(bytes: Uint8Array): StatCache {
    try {
      return new StatCache(decode(bytes));
    } catch {
      return new StatCache();
    }
  }

  toBytes(): Uint8Array {
    return encode(this.#directories);
  }

  /** The same knowledge, to be changed apart: for work whose objects are dropped when it fails. */
  copy(): StatCache {
    return new StatCache(new Map(this.#directories));
  }

  get(path: string): CachedDirectory | undefined {
    return this.#directories.get(path);
  }

  set(path: string, directory: CachedDirectory): void {
    this.#directories.set(path, directory);
  }

  /** Directories that are gone, and all below them: what was in them may not have been kept. */
  forget(gone: ReadonlySet<string>): void {
    if (gone.size === 0) return;
    for (const path of [...this.#directories.keys()])
      for (let end = path.length; end > 0; end = path.lastIndexOf("/", end - 1))
        if (gone.has(path.slice(0, end))) {
          this.#directories.delete(path);
          break;
        }
  }

  /** Takes what a whole scan found, and forgets the rest. */
  replace(directories: Map<string, CachedDirectory>): void {
    this.#directories = directories;
  }
}

/** The stamp of a file that was hashed, or undefined when it may not be trusted. `at`: when the reading began, in milliseconds. */
export function stampOf(stat: BigIntStats, at: number): Stamp | undefined {
  if (stat.ctimeNs >= BigInt(Math.floor(at) - tick) * 1_000_000n) return undefined;
  const { size, mode, ino, mtimeNs, ctimeNs } = stat;
  return { size, mode, ino, mtimeNs, ctimeNs };
}

/** The longest tick of the clock of a file system that is in use, in milliseconds. */
const tick = 10;

export function looksLike(stat: BigIntStats, stamp: Stamp): boolean {
  return (
    stat.ctimeNs === stamp.ctimeNs &&
    stat.mtimeNs === stamp.mtimeNs &&
    stat.size === stamp.size &&
    stat.ino === stamp.ino &&
    stat.mode === stamp.mode
  );
}

const heading = "openrath stat 1\n";
const digestLength = 32;

function encode(directories: ReadonlyMap<string, CachedDirectory>): Uint8Array {
  const out = new ByteWriter();
  out.text(heading);
  out.number(directories.size);
  for (const [path, { hash, entries, stamps }] of directories) {
    out.text(path);
    out.hex(hash);
    out.number(entries.size);
    for (const [name, entry] of entries) {
      out.text(name);
      writeEntry(out, entry, stamps.get(name));
    }
  }
  const body = out.bytes();
  return Buffer.concat([digest("sha256", body, "buffer"), body]);
}

function decode(bytes: Uint8Array): Map<string, CachedDirectory> {
  const body = bytes.subarray(digestLength);
  if (!digest("sha256", body, "buffer").equals(bytes.subarray(0, digestLength))) throw new Error("It is damaged.");
  const from = new ByteReader(body);
  if (from.text() !== heading) throw new Error("It is something else.");
  const directories = new Map<string, CachedDirectory>();
  for (let left = from.number(); left > 0; left--) {
    const path = from.text();
    const hash = from.hex();
    const entries = new Map<string, Entry>();
    const stamps = new Map<string, Stamp>();
    for (let more = from.number(); more > 0; more--) {
      const name = from.text();
      const [entry, stamp] = readEntry(from);
      entries.set(name, entry);
      if (stamp !== undefined) stamps.set(name, stamp);
    }
    directories.set(path, { hash, entries, stamps });
  }
  return directories;
}

const kinds = ["file", "directory", "other"] as const;

function writeEntry(out: ByteWriter, entry: Entry, stamp: Stamp | undefined): void {
  const kind = entry.type === "file" || entry.type === "directory" ? entry.type : "other";
  out.number(kinds.indexOf(kind) * 2 + (stamp === undefined ? 0 : 1));
  if (entry.type === "file") out.number(entry.size);
  if (entry.type === "file" || entry.type === "directory") {
    out.number(entry.mode);
    out.hex(entry.hash);
  } else out.text(JSON.stringify(entry));
  if (stamp === undefined) return;
  for (const value of [stamp.size, stamp.mode, stamp.ino, stamp.mtimeNs, stamp.ctimeNs]) out.big(value);
}

function readEntry(from: ByteReader): readonly [Entry, Stamp | undefined] {
  const tag = from.number();
  const type = kinds[tag >> 1] as (typeof kinds)[number];
  let entry: Entry;
  if (type === "file") entry = { type, size: from.number(), mode: from.number(), hash: from.hex() };
  else if (type === "directory") entry = { type, mode: from.number(), hash: from.hex() };
  else entry = JSON.parse(from.text()) as Entry;
  if (tag % 2 === 0) return [entry, undefined];
  return [entry, { size: from.big(), mode: from.big(), ino: from.big(), mtimeNs: from.big(), ctimeNs: from.big() }];
}
