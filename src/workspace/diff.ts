/** What differs between two trees. Equal directories are skipped by their hash, so the cost is that of what differs. */
import { hash as digest } from "node:crypto";
import type { Change } from "../session/session.ts";
import { bytesOf } from "./name.ts";
import { type Directory, type Entry, emptyTree, sameEntry, type Trees } from "./tree.ts";

/**
 * What leads from one tree to another, in the byte order of paths. Directories follow from what is in them; they appear themselves
 * when they are empty and come or go, and when their permissions changed. Where something that was no directory becomes one, or
 * the reverse, that is one change of type, and what is below it is listed as added or removed.
 */
export async function changesBetween(trees: Trees, a: string, b: string): Promise<readonly Change[]> {
  const changes: Change[] = [];
  await compareDirectories(trees, a, b, "", changes);
  return inOrder(changes, (change) => change.path);
}

/** What a `Change` and a `Conflict` name of an entry: the content of a file, the target of a link. */
export function contentHash(entry: Entry | undefined): string | undefined {
  if (entry?.type === "file") return entry.hash;
  if (entry?.type === "link") return digest("sha256", bytesOf(entry.target), "hex");
  return undefined;
}

/** Things in the byte order of their paths. */
export function inOrder<T>(things: readonly T[], path: (thing: T) => string): readonly T[] {
  // One character for each byte: the order of such strings is the order of the bytes.
  const keyed = things.map((thing) => ({ thing, key: bytesOf(path(thing)).toString("latin1") }));
  keyed.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  return keyed.map(({ thing }) => thing);
}

/** The path of a name in a directory. */
export function join(directory: string, name: string): string {
  return directory === "" ? name : `${directory}/${name}`;
}

/** All names of several directories, each once. */
export function namesOf(...directories: readonly Directory[]): Set<string> {
  const names = new Set<string>();
  for (const directory of directories) for (const name of directory.keys()) names.add(name);
  return names;
}

async function compareDirectories(trees: Trees, a: string, b: string, under: string, changes: Change[]): Promise<void> {
  if (a === b) return;
  const before = await trees.directory(a);
  const after = await trees.directory(b);
  for (const name of namesOf(before, after)) await compareEntries(trees, before.get(name), after.get(name), join(under, name), changes);
}

async function compareEntries(
  trees: Trees,
  before: Entry | undefined,
  after: Entry | undefined,
  path: string,
  changes: Change[],
): Promise<void> {
  if (sameEntry(before, after)) return;
  const change = changeOf(path, before, after);
  if (change !== undefined) changes.push(change);
  if (before?.type !== "directory" && after?.type !== "directory") return;
  await compareDirectories(trees, treeOf(before), treeOf(after), path, changes);
}

function treeOf(entry: Entry | undefined): string {
  return entry?.type === "directory" ? entry.hash : emptyTree;
}

/** The change of one path itself, without what is below it; undefined for a directory that shows by its content. */
function changeOf(path: string, before: Entry | undefined, after: Entry | undefined): Change | undefined {
  if (before === undefined || after === undefined) {
    const only = before ?? after;
    if (only?.type === "directory" && only.hash !== emptyTree) return undefined;
    return { path, kind: before === undefined ? "added" : "removed", ...hashes(before, after) };
  }
  if (before.type !== after.type) return { path, kind: "changed", ...hashes(before, after), of: "type" };
  if (before.type === "directory" && after.type === "directory")
    return before.mode === after.mode ? undefined : { path, kind: "changed", of: "mode" };
  const modeAlone = before.type === "file" && after.type === "file" && before.hash === after.hash;
  return { path, kind: "changed", ...hashes(before, after), ...(modeAlone ? { of: "mode" as const } : {}) };
}

function hashes(a: Entry | undefined, b: Entry | undefined): { before?: string; after?: string } {
  const before = contentHash(a);
  const after = contentHash(b);
  return { ...(before === undefined ? {} : { before }), ...(after === undefined ? {} : { after }) };
}
