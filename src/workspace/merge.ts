/**
 * Three-way merges of trees. Paths are merged one by one and texts by lines; what only one side changed is taken by its hash, so
 * the cost is that of what both changed. Nothing is lost in silence: whatever both sides changed differently is a conflict, except
 * in a `.git`, where every command of git writes, and of which ours stays and takes in new files.
 */
import { agreed, conflictAt, type FileConflict, type Problem, textOf } from "./conflict.ts";
import { inOrder, join, namesOf } from "./diff.ts";
import { diff3 } from "./diff3.ts";
import { isGit } from "./git-folder.ts";
import { type Entry, emptyTree, sameEntry, sorted, type Trees } from "./tree.ts";

/** What a merge came to. */
export interface Merged {
  /** Where there is a conflict, it holds ours. */
  readonly tree: string;
  /** In the byte order of paths, one for each path. */
  readonly conflicts: readonly FileConflict[];
}

/** Merges two trees that both come from a third. */
export async function mergeTrees(trees: Trees, base: string, ours: string, theirs: string): Promise<Merged> {
  const merge: Merge = { trees, conflicts: [] };
  const tree = await mergeContents(merge, "", base, ours, theirs);
  return { tree, conflicts: inOrder(merge.conflicts, ({ path }) => path) };
}

/**
 * Names in one directory that some file systems take for one: equal when composed and in lower case. A list of paths for each;
 * the caller decides what that means.
 */
export async function caseCollisions(trees: Trees, tree: string): Promise<readonly (readonly string[])[]> {
  const groups = new Map<string, string[]>();
  for await (const { path } of trees.walk(tree)) {
    const cut = path.lastIndexOf("/") + 1;
    const key = path.slice(0, cut) + path.slice(cut).normalize("NFC").toLowerCase().normalize("NFC");
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [path]);
    else group.push(path);
  }
  return [...groups.values()].filter((group) => group.length > 1);
}

interface Merge {
  readonly trees: Trees;
  readonly conflicts: FileConflict[];
}

type FileEntry = Extract<Entry, { readonly type: "file" }>;
type DirectoryEntry = Extract<Entry, { readonly type: "directory" }>;

/** The content of a directory, of three contents. */
async function mergeContents(merge: Merge, path: string, base: string, ours: string, theirs: string): Promise<string> {
  const one = agreed(base, ours, theirs);
  if (one !== undefined) return one;
  const { trees } = merge;
  const [a, o, t] = [await trees.directory(base), await trees.directory(ours), await trees.directory(theirs)];
  const entries: [string, Entry][] = [];
  for (const name of namesOf(a, o, t)) {
    const entry = await mergeEntries(merge, join(path, name), a.get(name), o.get(name), t.get(name), isGit(name));
    if (entry !== undefined) entries.push([name, entry]);
  }
  return trees.store(sorted(entries));
}

async function mergeEntries(
  merge: Merge,
  path: string,
  base: Entry | undefined,
  ours: Entry | undefined,
  theirs: Entry | undefined,
  git: boolean,
): Promise<Entry | undefined> {
  if (sameEntry(ours, theirs) || sameEntry(base, theirs)) return ours;
  if (sameEntry(base, ours)) return theirs;
  if (git) return ours?.type === "directory" && theirs?.type === "directory" ? withNew(merge.trees, base, ours, theirs) : ours;
  if (isDirectoryOrNothing(ours) && isDirectoryOrNothing(theirs)) return mergeDirectories(merge, path, base, ours, theirs);
  if (ours?.type === "file" && theirs?.type === "file") return mergeFiles(merge, path, base, ours, theirs);
  merge.conflicts.push(conflictAt(path, problemOf(base, ours, theirs), base, ours, theirs));
  return ours;
}

/**
 * Our directory with what is new in theirs, such as objects. Nothing else of theirs is taken: an index of one side over a branch of
 * the other would be a state that neither had.
 */
async function withNew(trees: Trees, base: Entry | undefined, ours: DirectoryEntry, theirs: DirectoryEntry): Promise<DirectoryEntry> {
  const from = await trees.directory(base?.type === "directory" ? base.hash : emptyTree);
  const entries = new Map(await trees.directory(ours.hash));
  for (const [name, theirEntry] of await trees.directory(theirs.hash)) {
    const [before, now] = [from.get(name), entries.get(name)];
    if (sameEntry(now, theirEntry) || sameEntry(before, theirEntry)) continue;
    if (now === undefined && before === undefined) entries.set(name, theirEntry);
    else if (now?.type === "directory" && theirEntry.type === "directory") entries.set(name, await withNew(trees, before, now, theirEntry));
  }
  return { ...ours, hash: await trees.store(sorted(entries)) };
}

function isDirectoryOrNothing(entry: Entry | undefined): entry is DirectoryEntry | undefined {
  return entry === undefined || entry.type === "directory";
}

function problemOf(base: Entry | undefined, ours: Entry | undefined, theirs: Entry | undefined): Problem {
  if (ours === undefined || theirs === undefined) return "delete-edit";
  if (ours.type === "directory" || theirs.type === "directory") return "directory-file";
  if ([base, ours, theirs].some((entry) => entry?.type === "withheld")) return "withheld";
  if (base === undefined || base.type === "directory") return "add-add";
  return ours.type === theirs.type ? "content" : "type";
}

/** One side may have no directory: then what the other has in it is merged with nothing, and an empty rest goes. */
async function mergeDirectories(
  merge: Merge,
  path: string,
  base: Entry | undefined,
  ours: DirectoryEntry | undefined,
  theirs: DirectoryEntry | undefined,
): Promise<Entry | undefined> {
  const from = base?.type === "directory" ? base : undefined;
  const hash = await mergeContents(merge, path, treeOf(from), treeOf(ours), treeOf(theirs));
  if (ours !== undefined && theirs !== undefined) {
    const mode = agreed(from?.mode, ours.mode, theirs.mode);
    if (mode === undefined) merge.conflicts.push(conflictAt(path, "mode", base, ours, theirs));
    return { type: "directory", mode: mode ?? ours.mode, hash };
  }
  const left = (ours ?? theirs) as DirectoryEntry;
  if (from === undefined || hash !== emptyTree) return { ...left, hash };
  // All in it is gone; permissions that were changed for it are not dropped unseen.
  if (left.mode === from.mode) return undefined;
  merge.conflicts.push(conflictAt(path, "delete-edit", base, ours, theirs));
  return ours === undefined ? undefined : { ...ours, hash };
}

function treeOf(entry: DirectoryEntry | undefined): string {
  return entry?.hash ?? emptyTree;
}

async function mergeFiles(merge: Merge, path: string, base: Entry | undefined, ours: FileEntry, theirs: FileEntry): Promise<Entry> {
  const from = base?.type === "file" ? base : undefined;
  const content = await mergeContent(merge.trees, base, ours, theirs);
  const mode = agreed(from?.mode, ours.mode, theirs.mode);
  if (typeof content !== "string" && mode !== undefined) return { ...content, mode };
  merge.conflicts.push(conflictAt(path, typeof content === "string" ? content : "mode", base, ours, theirs));
  return typeof content === "string" ? ours : { ...content, mode: ours.mode };
}

/** A file with the merged content, or why there is none. */
async function mergeContent(trees: Trees, base: Entry | undefined, ours: FileEntry, theirs: FileEntry): Promise<FileEntry | Problem> {
  const from = base?.type === "file" ? base : undefined;
  const hash = agreed(from?.hash, ours.hash, theirs.hash);
  if (hash !== undefined) return hash === ours.hash ? ours : theirs;
  if (from === undefined) return base?.type === "withheld" ? "withheld" : "add-add";
  const [a, o, t] = [await textOf(trees, from), await textOf(trees, ours), await textOf(trees, theirs)];
  if (a === undefined || o === undefined || t === undefined) return "binary";
  const { text, conflicts } = diff3(a, o, t);
  if (conflicts > 0) return "content";
  const bytes = Buffer.from(text);
  return { ...ours, size: bytes.length, hash: await trees.objects.put(bytes) };
}
