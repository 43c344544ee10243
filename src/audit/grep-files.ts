/** What events name outside themselves, each thing once: long texts in blobs, and the files of trees. */
import { RathError } from "../session/errors.ts";
import type { Store } from "../store/store.ts";
import { isGit } from "../workspace/git-folder.ts";
import { compareNames } from "../workspace/name.ts";
import { type Directory, decodeDirectory, type Entry, emptyTree } from "../workspace/tree.ts";
import type { BlobAt, EventTexts } from "./grep-text.ts";

/** Something named, by a key that says how it is read. */
export interface Thing extends BlobAt {
  readonly key: string;
  /** It is the content of a file, and `where` its path. */
  readonly file: boolean;
}

/** Of keys in order, those that were not met before; they are met from then on. */
export type Fresh = (keys: readonly string[]) => Promise<ReadonlySet<string>>;

/** A memory of this process alone. */
export function freshOnce(): Fresh {
  const met = new Set<string>();
  return async (keys) => {
    const fresh = new Set(keys.filter((key) => !met.has(key)));
    for (const key of fresh) met.add(key);
    return fresh;
  };
}

/** What an event is the first to name: it brought it in. */
export async function* broughtIn(store: Store, { blobs, trees }: EventTexts, fresh: Fresh): AsyncGenerator<Thing, void> {
  if (blobs.length > 0) {
    const things = blobs.map((blob) => ({ ...blob, key: `${blob.form}:${blob.hash}`, file: false }));
    yield* firstOf(things, await fresh(things.map(({ key }) => key)));
  }
  for (const tree of trees) yield* filesIn(store, tree, fresh);
}

/** Directories that were met before hold nothing new. Without recursion: a tree may be deeper than the call stack. */
async function* filesIn(store: Store, root: string, fresh: Fresh): AsyncGenerator<Thing, void> {
  const waiting = [{ hash: root, path: "" }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const key = directoryKey(next.hash);
    if (next.hash === emptyTree || !(await fresh([key])).has(key)) continue;
    const inner = next.path === "" ? "" : `${next.path}/`;
    const files: Thing[] = [];
    const directories: { hash: string; path: string }[] = [];
    for (const [name, entry] of await directoryOf(store, next.hash)) {
      // What git keeps for itself nobody wrote to be found.
      if (isGit(name)) continue;
      if (entry.type === "directory") directories.push({ hash: entry.hash, path: inner + name });
      if (entry.type === "file")
        files.push({ key: `bytes:${entry.hash}`, hash: entry.hash, form: "bytes", where: inner + name, file: true });
    }
    if (files.length > 0) yield* firstOf(files, await fresh(files.map((file) => file.key)));
    for (let index = directories.length - 1; index >= 0; index--) waiting.push(directories[index] as { hash: string; path: string });
  }
}

/** Under this key a directory is noted as met. It has no text of its own. */
export function directoryKey(hash: string): string {
  return `directory:${hash}`;
}

/** The order in which a tree is walked: the files of a directory, then the directories in it. */
export function inWalk(a: string, b: string): number {
  const [ours, theirs] = [a.split("/"), b.split("/")];
  for (let depth = 0; ; depth++) {
    const [file, other] = [depth === ours.length - 1, depth === theirs.length - 1];
    if (file !== other) return file ? -1 : 1;
    const order = compareNames(ours[depth] as string, theirs[depth] as string);
    if (order !== 0 || file) return order;
  }
}

/** True when a tree has this content at a path. */
export async function hasFile(store: Store, tree: string, path: string, hash: string): Promise<boolean> {
  let at: Entry | undefined = { type: "directory", mode: 0, hash: tree };
  for (const name of path.split("/")) at = at?.type === "directory" ? (await directoryOf(store, at.hash)).get(name) : undefined;
  return at?.type === "file" && at.hash === hash;
}

function firstOf(things: readonly Thing[], fresh: ReadonlySet<string>): readonly Thing[] {
  const taken = new Set<string>();
  return things.filter(({ key }) => fresh.has(key) && !taken.has(key) && taken.add(key));
}

/** What is missing or damaged is for `verify` to tell: nothing can be found in it. */
async function directoryOf(store: Store, hash: string): Promise<Directory> {
  const bytes = await store.blob(hash);
  try {
    return bytes === undefined ? new Map() : decodeDirectory(bytes);
  } catch (error) {
    if (RathError.is(error, "workspace.invalid")) return new Map();
    throw error;
  }
}
