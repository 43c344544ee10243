/**
 * The Merkle tree of a workspace: one node per directory, named by the SHA-256 of its canonical bytes, so that equal directories
 * are stored and compared once. It holds what the host can bring back: contents, permissions, links, empty directories. Special
 * files and contents that were not kept are entries too, so that nothing disappears in silence. Links are data: nothing here
 * follows them.
 */
import { hash as digest } from "node:crypto";
import { RathError } from "../session/errors.ts";
import { compareNames } from "./name.ts";
import type { Objects } from "./objects.ts";

export type Entry =
  /** `mode` is permissions alone (9 bits); `hash` names the content. */
  | { readonly type: "file"; readonly mode: number; readonly size: number; readonly hash: string }
  /** `hash` names its node. */
  | { readonly type: "directory"; readonly mode: number; readonly hash: string }
  /** `target` is bytes, written like a name. */
  | { readonly type: "link"; readonly target: string }
  /** Noted; a fifo is made again, the others are not. */
  | { readonly type: "fifo" | "socket" | "device" }
  /** A file whose content is not kept: too large, it holds a secret, or it was erased. */
  | { readonly type: "withheld"; readonly why: "size" | "secret" | "erased"; readonly size: number };

/** A directory: entries by name, in the order of their bytes. */
export type Directory = ReadonlyMap<string, Entry>;

const heading = "openrath tree 1\n";

/** The hash of a workspace without files. */
export const emptyTree: string = digest("sha256", heading, "hex");

/** The canonical bytes of a directory: a heading, then one JSON line for each entry. */
function encodeDirectory(directory: Directory): Uint8Array {
  const names = [...directory.keys()].sort(compareNames);
  let text = heading;
  for (const name of names) text += `${JSON.stringify(lineOf(name, directory.get(name) as Entry))}\n`;
  return Buffer.from(text);
}

/** Lines of directories with what they say. */
export type KnownLines = Map<string, readonly [string, Entry]>;

/**
 * The directory that bytes are; refuses what `encodeDirectory` would not have written, so that no entry hides in odd bytes. Who reads
 * many versions of directories, which share most of their lines, gives a map in which those that were read are noted.
 */
export function decodeDirectory(bytes: Uint8Array, known?: KnownLines): Directory {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
  if (!text.startsWith(heading)) throw invalid("it does not begin as one");
  const directory = new Map<string, Entry>();
  let before: string | undefined;
  for (const line of text.slice(heading.length).split("\n").slice(0, -1)) {
    const [name, entry] = known === undefined ? entryOf(line) : knownEntry(line, known);
    if (before !== undefined && compareNames(before, name) >= 0) throw invalid(`${JSON.stringify(name)} is out of order`);
    before = name;
    directory.set(name, entry);
  }
  return directory;
}

function knownEntry(line: string, known: KnownLines): readonly [string, Entry] {
  let found = known.get(line);
  if (found === undefined) {
    // A part of a text keeps all of it in memory: this one is copied.
    const kept = Buffer.from(line).toString();
    found = entryOf(kept);
    known.set(kept, found);
  }
  return found;
}

type Line = readonly [string, string, ...(string | number)[]];

function lineOf(name: string, entry: Entry): Line {
  switch (entry.type) {
    case "file":
      return [name, "file", entry.mode, entry.size, entry.hash];
    case "directory":
      return [name, "directory", entry.mode, entry.hash];
    case "link":
      return [name, "link", entry.target];
    case "withheld":
      return [name, "withheld", entry.why, entry.size];
    default:
      return [name, entry.type];
  }
}

/** A file as nearly all are: a name that needs no escapes, and numbers as they are written. */
const ordinary = /^\["([^"\\/\p{Cc}\p{Cs}]+)","file",(0|[1-9]\d{0,2}),(0|[1-9]\d{0,14}),"([0-9a-f]{64})"\]$/u;

function entryOf(line: string): readonly [string, Entry] {
  const [, file = "", mode, size, hash = ""] = ordinary.exec(line) ?? [];
  if (isName(file) && isMode(Number(mode))) return [file, { type: "file", mode: Number(mode), size: Number(size), hash }];
  let parsed: unknown;
  try {
    parsed = JSON.parse(line);
  } catch {
    throw invalid("a line is no JSON");
  }
  if (!Array.isArray(parsed) || typeof parsed[0] !== "string" || !isName(parsed[0])) throw invalid("a line has no name");
  const [name, type, a, b, c] = parsed as [string, unknown, unknown, unknown, unknown];
  const entry = readEntry(type, a, b, c);
  if (entry === undefined || JSON.stringify(lineOf(name, entry)) !== line) throw invalid(`the entry ${JSON.stringify(name)} is malformed`);
  return [name, entry];
}

function readEntry(type: unknown, a: unknown, b: unknown, c: unknown): Entry | undefined {
  switch (type) {
    case "file":
      return isMode(a) && isSize(b) && isHash(c) ? { type, mode: a, size: b, hash: c } : undefined;
    case "directory":
      return isMode(a) && isHash(b) ? { type, mode: a, hash: b } : undefined;
    case "link":
      return typeof a === "string" ? { type, target: a } : undefined;
    case "fifo":
    case "socket":
    case "device":
      return { type };
    case "withheld":
      return (a === "size" || a === "secret" || a === "erased") && isSize(b) ? { type, why: a, size: b } : undefined;
    default:
      return undefined;
  }
}

/** One step of a path: never empty, a dot, or two, and without a slash or a zero byte. */
function isName(name: string): boolean {
  return name !== "" && name !== "." && name !== ".." && !name.includes("/") && !name.includes("\0");
}
function isMode(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 0o777;
}
function isSize(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
function isHash(value: unknown): value is string {
  return typeof value === "string" && /^[0-9a-f]{64}$/.test(value);
}
function invalid(problem: string): RathError {
  return new RathError("workspace.invalid", `This is no directory of a workspace: ${problem}.`);
}

/** Trees in a content store. Nodes that were seen are remembered, since most of a tree stays as it was. */
export class Trees {
  readonly objects: Objects;
  readonly #known: KnownDirectories;

  constructor(objects: Objects, known: KnownDirectories = new KnownDirectories()) {
    this.objects = objects;
    this.#known = known;
  }

  /** The same memory over other objects: what one effect adds is kept apart until it is recorded. */
  over(objects: Objects): Trees {
    return new Trees(objects, this.#known);
  }

  async directory(name: string): Promise<Directory> {
    if (name === emptyTree) return nothing;
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const directory = decodeDirectory(await this.objects.get(name), this.#known.lines);
    const erased = await this.objects.erased?.();
    return this.#known.set(name, erased === undefined || erased.size === 0 ? directory : withoutErased(directory, erased));
  }

  /** Directories are read again: contents they name were erased. */
  forget(): void {
    this.#known.clear();
  }

  async store(directory: Directory): Promise<string> {
    if (directory.size === 0) return emptyTree;
    const name = await this.objects.put(encodeDirectory(directory));
    this.#known.set(name, directory);
    return name;
  }

  /** What is at a path of a tree, without following links; undefined when nothing is. "" is the tree itself. */
  async entry(tree: string, path: string): Promise<Entry | undefined> {
    let at: Entry | undefined = { type: "directory", mode: 0o755, hash: tree };
    for (const name of path === "" ? [] : path.split("/")) {
      if (at?.type !== "directory") return undefined;
      at = (await this.directory(at.hash)).get(name);
    }
    return at;
  }

  /**
   * The tree with another entry at a path, or without one. Directories above it are made as needed (0755); one that becomes empty
   * by a removal stays. Rejects with `workspace.invalid` when a step of the path is something else than a directory.
   */
  async with(tree: string, path: string, entry: Entry | undefined): Promise<string> {
    const [name = "", ...rest] = path.split("/");
    if (!isName(name))
      throw new RathError("workspace.invalid", `${JSON.stringify(path)} is no path inside a workspace.`, { details: { path } });
    const directory = new Map(await this.directory(tree));
    const now = directory.get(name);
    if (rest.length === 0) {
      if (entry === undefined) directory.delete(name);
      else directory.set(name, entry);
    } else {
      if (now === undefined && entry === undefined) return tree;
      if (now !== undefined && now.type !== "directory")
        throw new RathError("workspace.invalid", `${JSON.stringify(name)} is a ${now.type}, so nothing can be under it.`, {
          details: { path },
        });
      const hash = await this.with(now?.hash ?? emptyTree, rest.join("/"), entry);
      directory.set(name, { type: "directory", mode: now?.mode ?? 0o755, hash });
    }
    return this.store(sorted(directory));
  }

  /** Everything in a tree, parents before children, in the order of names. */
  async *walk(tree: string, under = ""): AsyncIterable<{ readonly path: string; readonly entry: Entry }> {
    for (const [name, entry] of await this.directory(tree)) {
      const path = under === "" ? name : `${under}/${name}`;
      yield { path, entry };
      if (entry.type === "directory") yield* this.walk(entry.hash, path);
    }
  }
}

/** Directories that were seen last, up to so many entries in all of them: each change of a large one makes another. */
export class KnownDirectories {
  /** Of directories that were read: their versions share entries. */
  readonly lines: KnownLines = new Map();
  readonly #directories = new Map<string, Directory>();
  readonly #most: number;
  #entries = 0;

  constructor(most = rememberedEntries) {
    this.#most = most;
  }

  get(name: string): Directory | undefined {
    return this.#directories.get(name);
  }

  clear(): void {
    this.lines.clear();
    this.#directories.clear();
    this.#entries = 0;
  }

  set(name: string, directory: Directory): Directory {
    const known = this.#directories.get(name);
    if (known !== undefined) return known;
    this.#directories.set(name, directory);
    this.#entries += directory.size + 1;
    if (this.lines.size > this.#most) this.lines.clear();
    for (const [oldest, { size }] of this.#directories) {
      if (this.#entries <= this.#most) break;
      this.#directories.delete(oldest);
      this.#entries -= size + 1;
    }
    return directory;
  }
}

const rememberedEntries = 250_000;
const nothing: Directory = new Map();

/** Files whose contents were erased are there, without them. */
function withoutErased(directory: Directory, erased: ReadonlySet<string>): Directory {
  const isErased = (entry: Entry): entry is Entry & { readonly type: "file" } => entry.type === "file" && erased.has(entry.hash);
  if (![...directory.values()].some(isErased)) return directory;
  return new Map(
    [...directory].map(([name, entry]) => [name, isErased(entry) ? { type: "withheld", why: "erased", size: entry.size } : entry]),
  );
}

/** Entries in the order of their names. */
export function sorted(entries: Iterable<readonly [string, Entry]>): Directory {
  return new Map([...entries].sort(([a], [b]) => compareNames(a, b)));
}

/** True when two entries say the same. */
export function sameEntry(a: Entry | undefined, b: Entry | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && JSON.stringify(lineOf("", a)) === JSON.stringify(lineOf("", b)));
}
