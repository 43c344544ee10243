/**
 * What `apply` may do to a directory: compares each path that changed between two trees with what is there now. Gives the tree that
 * the directory is to hold, which is the base with those changes that were chosen, are possible, are not there already, and are not
 * in a `.git`.
 */
import { createHash } from "node:crypto";
import type { BigIntStats } from "node:fs";
import { RathError } from "../session/errors.ts";
import { readContent } from "./content.ts";
import { join } from "./diff.ts";
import { collisions, fold, foldsNames } from "./fold.ts";
import { isGit } from "./git-folder.ts";
import type { Ignore } from "./ignore.ts";
import { normalPath } from "./path.ts";
import type { Place } from "./place.ts";
import { Slices } from "./slices.ts";
import { type Directory, type Entry, emptyTree, sameEntry, sorted, type Trees } from "./tree.ts";

export interface PlanOptions {
  /** Files, and directories with all below them. Default: everything. */
  readonly paths?: readonly string[] | undefined;
  /** What is left out of snapshots of this directory is not written to it either. */
  readonly ignore?: Ignore | undefined;
  /** Whether the file system takes names for the same that differ in case or Unicode form alone. Default: it is asked. */
  readonly foldsNames?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A directory of the disk; `absent` when nothing is there, `other` when it is no directory, such as a link to one. */
type Spot = Place | "absent" | "other";
type DirectoryEntry = Extract<Entry, { type: "directory" }>;

export class ApplyPlan {
  /** How each path looked that is to be made, replaced or removed. */
  readonly looks = new Map<string, BigIntStats | undefined>();
  /** Paths that are to go and have gone already. */
  readonly gone = new Set<string>();
  readonly #trees: Trees;
  readonly #root: Place;
  readonly #options: PlanOptions;
  readonly #chosen: readonly string[] | undefined;
  readonly #slices: Slices;
  readonly #folds: boolean;
  readonly #conflicts: string[] = [];
  readonly #colliding: string[] = [];
  readonly #readOnly: string[] = [];

  constructor(trees: Trees, root: Place, options: PlanOptions) {
    this.#trees = trees;
    this.#root = root;
    this.#options = options;
    const chosen = options.paths?.map(normalPath);
    this.#chosen = chosen?.includes("") === true ? undefined : chosen;
    this.#slices = new Slices(options.signal);
    this.#folds = options.foldsNames ?? foldsNames(root);
  }

  /** The tree to write. Throws when somebody changed what it would change. */
  async make(base: string, target: string): Promise<string> {
    const goal = await this.#trees.store(await this.#directory(this.#root, "", base, target));
    if (this.#conflicts.length > 0) throw changed(this.#conflicts);
    if (this.#colliding.length > 0) throw colliding(this.#colliding);
    if (this.#readOnly.length > 0) throw readOnly(this.#readOnly);
    return goal;
  }

  async #directory(spot: Spot, path: string, base: string, target: string): Promise<Directory> {
    const before = await this.#trees.directory(base);
    const after = await this.#trees.directory(target);
    const goal = new Map(before);
    const renamed = this.#folds ? removedFolds(before, after) : none;
    let touched = false;
    for (const name of new Set([...before.keys(), ...after.keys()])) {
      const below = join(path, name);
      const [earlier, next] = [before.get(name), after.get(name)];
      if (sameEntry(earlier, next) || isGit(name) || !this.#concerns(below, earlier ?? next)) continue;
      if (this.#slices.due) await this.#slices.rest();
      const there = earlier === undefined && renamed.has(fold(name)) ? "absent" : spot;
      const entry = await this.#entry(there, name, below, earlier, next);
      if (sameEntry(entry, earlier)) continue;
      if (entry === undefined) goal.delete(name);
      else goal.set(name, entry);
      touched ||= entry?.type !== "directory" || earlier?.type !== "directory";
    }
    if (touched && typeof spot === "object" && !spot.writable) this.#readOnly.push(path === "" ? "." : path);
    if (touched && this.#folds) for (const name of collisions(goal.keys())) this.#colliding.push(path === "" ? name : `${path}/${name}`);
    return sorted(goal);
  }

  /** Whether a path was chosen, or something below it can have been, and is not to be left alone. */
  #concerns(path: string, entry: Entry | undefined): boolean {
    if (this.#options.ignore !== undefined && this.#options.ignore.verdict(path, entry?.type === "directory") !== "keep") return false;
    return this.#isChosen(path) || (this.#chosen?.some((chosen) => chosen.startsWith(`${path}/`)) ?? false);
  }

  #isChosen(path: string): boolean {
    return this.#chosen === undefined || isUnder(path, this.#chosen);
  }

  /** What is to be at a path: `earlier` when nothing is to be done. */
  async #entry(spot: Spot, name: string, path: string, earlier: Entry | undefined, next: Entry | undefined): Promise<Entry | undefined> {
    if (isDirectory(earlier) && (next === undefined || isDirectory(next))) return this.#below(spot, name, path, earlier, next);
    if (isDirectory(next) && earlier === undefined) return this.#below(spot, name, path, undefined, next);
    if (isDirectory(earlier) && !this.#isChosen(path)) return this.#below(spot, name, path, earlier, undefined);
    if (next !== undefined && !isKept(next)) return earlier;
    if (earlier !== undefined && !isKept(earlier) && next === undefined) return earlier;
    const found = await this.#found(spot, name, path);
    if (found === "other") return this.#conflict(path, earlier);
    if (isDirectory(earlier)) return sameEntry(found, next) ? earlier : this.#replaceDirectory(spot, name, path, earlier, next);
    if (isDirectory(next) ? isDirectory(found) && (await this.#holds(spot, name, next)) : sameEntry(found, next)) {
      if (next === undefined) this.gone.add(path);
      return next === undefined ? undefined : earlier;
    }
    if (!sameEntry(found, earlier) || (earlier !== undefined && !isKept(earlier))) return this.#conflict(path, earlier);
    if (!isDirectory(next)) return next;
    const goal = await this.#directory("absent", path, emptyTree, next.hash);
    if (goal.size === 0 && !this.#isChosen(path)) return earlier;
    return { ...next, hash: await this.#trees.store(goal) };
  }

  /** A directory that comes, goes, or changes inside. */
  async #below(spot: Spot, name: string, path: string, earlier: DirectoryEntry | undefined, next: DirectoryEntry | undefined) {
    const inner = enter(spot, name);
    try {
      const goal = await this.#directory(inner, path, earlier?.hash ?? emptyTree, next?.hash ?? emptyTree);
      if (inner === "other" && (next?.hash ?? emptyTree) === (earlier?.hash ?? emptyTree)) this.#conflict(path, undefined);
      if (next === undefined) {
        if (goal.size === 0 && this.#isChosen(path) && inner !== "absent") return undefined;
      } else if (earlier === undefined) {
        if (goal.size === 0 && (next.hash !== emptyTree || inner !== "absent" || !this.#isChosen(path))) return undefined;
      }
      const mode = earlier === undefined ? next?.mode : this.#mode(spot, name, path, earlier, next);
      return { type: "directory" as const, mode: mode ?? 0o755, hash: await this.#trees.store(goal) };
    } finally {
      if (typeof inner === "object") inner.close();
    }
  }

  #mode(spot: Spot, name: string, path: string, earlier: DirectoryEntry, next: DirectoryEntry | undefined): number {
    if (next === undefined || next.mode === earlier.mode || !this.#isChosen(path)) return earlier.mode;
    const stat = typeof spot === "object" ? spot.stat(name) : undefined;
    const now = stat === undefined ? undefined : Number(stat.mode) & 0o777;
    if (now === next.mode) return earlier.mode;
    if (now !== earlier.mode) this.#conflict(path, undefined);
    return next.mode;
  }

  /** A directory can give way to something else when nothing is in it but what the base says. */
  async #replaceDirectory(spot: Spot, name: string, path: string, earlier: DirectoryEntry, next: Entry | undefined) {
    const inner = enter(spot, name);
    if (typeof inner !== "object") return this.#conflict(path, earlier);
    try {
      const left = await this.#directory(inner, path, earlier.hash, emptyTree);
      if (left.size > 0 || !(await this.#holds(spot, name, earlier))) return this.#conflict(path, earlier);
      return next;
    } finally {
      inner.close();
    }
  }

  /** Whether a directory holds exactly what a tree says; what the tree has in a `.git` is not asked for. */
  async #holds(spot: Spot, name: string, entry: DirectoryEntry): Promise<boolean> {
    const inner = enter(spot, name);
    if (typeof inner !== "object") return false;
    try {
      const expected = await this.#trees.directory(entry.hash);
      for (const child of new Set([...inner.names(), ...expected.keys()])) {
        const wanted = expected.get(child);
        if (wanted !== undefined && isGit(child)) continue;
        const same = isDirectory(wanted)
          ? await this.#holds(inner, child, wanted)
          : wanted !== undefined && isSame(await this.#found(inner, child, inner.below(child)), wanted);
        if (!same) return false;
      }
      return true;
    } finally {
      inner.close();
    }
  }

  /** What is at a path now; of a directory, only that it is one. */
  async #found(spot: Spot, name: string, path: string): Promise<Entry | "other" | undefined> {
    if (typeof spot !== "object") return spot === "absent" ? this.#looked(path, undefined) : "other";
    const stat = spot.stat(name);
    this.#looked(path, stat);
    if (stat === undefined) return undefined;
    if (stat.isDirectory()) return { type: "directory", mode: Number(stat.mode) & 0o777, hash: emptyTree };
    if (stat.isSymbolicLink()) return { type: "link", target: spot.target(name) };
    if (stat.isFIFO()) return { type: "fifo" };
    if (!stat.isFile()) return { type: stat.isSocket() ? "socket" : "device" };
    const content = await readContent(spot, name, stat, { own: false, slices: this.#slices });
    if (content?.steady !== true) return "other";
    const hash = createHash("sha256").update(content.bytes).digest("hex");
    return { type: "file", mode: Number(stat.mode) & 0o777, size: content.bytes.length, hash };
  }

  #looked(path: string, stat: BigIntStats | undefined): undefined {
    this.looks.set(path, stat);
  }

  #conflict<T>(path: string, value: T): T {
    this.#conflicts.push(path);
    return value;
  }
}

/** Whether a path is one of some, or below one. */
export function isUnder(path: string, places: readonly string[]): boolean {
  return places.some((place) => place === "" || path === place || path.startsWith(`${place}/`));
}

function enter(spot: Spot, name: string): Spot {
  if (typeof spot !== "object") return spot;
  return spot.enter(name) ?? (spot.stat(name) === undefined ? "absent" : "other");
}

function isDirectory(entry: Entry | "other" | undefined): entry is DirectoryEntry {
  return typeof entry === "object" && entry.type === "directory";
}

function isSame(found: Entry | "other" | undefined, entry: Entry): boolean {
  return found !== "other" && sameEntry(found, entry);
}

/** True for what a tree can bring back. */
function isKept({ type }: Entry): boolean {
  return type !== "withheld" && type !== "socket" && type !== "device";
}

const none: ReadonlySet<string> = new Set();

/** Names that go, as a file system sees them that folds names: what comes under another spelling of one finds its place free. */
function removedFolds(before: Directory, after: Directory): ReadonlySet<string> {
  return new Set([...before.keys()].filter((name) => !after.has(name)).map(fold));
}

function changed(paths: readonly string[]): RathError {
  return new RathError(
    "workspace.changed",
    `Nothing was written, since ${listed(paths)} changed in the directory too: undo that there, leave these out with paths, or merge files.patch() by hand.`,
    { details: { paths } },
  );
}
function colliding(paths: readonly string[]): RathError {
  return new RathError("workspace.invalid", `Nothing was written, since this file system takes names for the same: ${listed(paths)}.`, {
    details: { paths },
  });
}
function readOnly(paths: readonly string[]): RathError {
  return new RathError("workspace.unreadable", `Nothing was written, since these directories cannot be written: ${listed(paths)}.`, {
    details: { paths },
  });
}

function listed(paths: readonly string[]): string {
  const shown = paths.slice(0, 5).map((path) => JSON.stringify(path));
  return paths.length > 5 ? `${shown.join(", ")} and ${paths.length - 5} more` : shown.join(", ");
}
