/** What two sides changed differently in files, and how it is settled. Small: contents are named, never held. */
import { RathError } from "../session/errors.ts";
import type { Conflict } from "../session/session.ts";
import { contentHash } from "./diff.ts";
import { diff3 } from "./diff3.ts";
import { textFrom } from "./lines.ts";
import { nameOf } from "./name.ts";
import { type Entry, emptyTree, type Trees } from "./tree.ts";

/** Why files did not merge. */
export type Problem =
  /** Both changed the same lines, or the target of a link. */
  | "content"
  /** Both changed what cannot be merged by lines: no text, or too large. */
  | "binary"
  /** Both changed permissions. What else they changed has merged. */
  | "mode"
  /** Both changed it, and it is no longer the same kind of thing. */
  | "type"
  /** One removed what the other changed. */
  | "delete-edit"
  /** One has a file or a link where the other has a directory. */
  | "directory-file"
  /** Both added it, differently. */
  | "add-add"
  /** Both changed it, and a content that matters was not kept. */
  | "withheld";

/** A path that both sides changed differently. It can be stored: it names contents and holds none. */
export type FileConflict = Extract<Conflict, { readonly kind: "file" }> & {
  readonly problem: Problem;
  /** What is there on each side; absent where nothing is. */
  readonly entries: { readonly base?: Entry; readonly ours?: Entry; readonly theirs?: Entry };
};

/** How a conflict is settled. */
export type Resolution = "ours" | "theirs" | { readonly content: string | Uint8Array };

export function conflictAt(
  path: string,
  problem: Problem,
  base: Entry | undefined,
  ours: Entry | undefined,
  theirs: Entry | undefined,
): FileConflict {
  const [a, o, t] = [contentHash(base), contentHash(ours), contentHash(theirs)];
  const entries = { ...(base && { base }), ...(ours && { ours }), ...(theirs && { theirs }) };
  return { kind: "file", path, ...(a && { base: a }), ...(o && { ours: o }), ...(t && { theirs: t }), problem, entries };
}

/** What both sides agree on, or the one that changed; undefined when both changed it differently. */
export function agreed<T>(base: T | undefined, ours: T, theirs: T): T | undefined {
  if (ours === theirs || theirs === base) return ours;
  return ours === base ? theirs : undefined;
}

/** A text with markers where both sides changed it, as `git merge-file --diff3` writes it; undefined where a side is no text. */
export async function conflictText(trees: Trees, conflict: FileConflict): Promise<string | undefined> {
  const { base, ours, theirs } = conflict.entries;
  const [o, t] = [await textOf(trees, ours), await textOf(trees, theirs)];
  if (o === undefined || t === undefined) return undefined;
  const a = base?.type === "file" ? await textOf(trees, base) : "";
  return a === undefined ? undefined : diff3(a, o, t).text;
}

/** The text of a file; undefined when it is none, or too large to be merged by lines. */
export async function textOf(trees: Trees, entry: Entry | undefined): Promise<string | undefined> {
  if (entry?.type !== "file" || entry.size > mostBytes) return undefined;
  return textFrom(await trees.objects.get(entry.hash));
}

const mostBytes = 8 * 1024 * 1024;

/**
 * The tree in which a conflict is settled. It is the tree of the merge or one made from it, which holds ours at the path. Given
 * content becomes a file with the permissions both sides agree on, or the target of the link where both sides have one.
 */
export async function resolve(trees: Trees, tree: string, conflict: FileConflict, resolution: Resolution): Promise<string> {
  if (resolution === "ours") return tree;
  const { path, problem, entries } = conflict;
  if (resolution !== "theirs") return trees.with(tree, path, await given(trees, conflict, resolution.content));
  if (problem === "mode") return withMode(trees, tree, conflict);
  if (entries.theirs !== undefined) return trees.with(tree, path, entries.theirs);
  return removed(trees, tree, path);
}

async function given(trees: Trees, { path, entries: { base, ours, theirs } }: FileConflict, content: string | Uint8Array): Promise<Entry> {
  const bytes = typeof content === "string" ? Buffer.from(content) : content;
  if (ours?.type === "link" && theirs?.type === "link") {
    if (bytes.length === 0 || bytes.includes(0))
      throw new RathError("workspace.invalid", `${JSON.stringify(path)} is a link: its target cannot be empty or hold a zero byte.`);
    return { type: "link", target: nameOf(bytes) };
  }
  const mode = (entry: Entry | undefined): number | undefined => (entry?.type === "file" ? entry.mode : undefined);
  const [o, t] = [mode(ours) ?? mode(theirs) ?? 0o644, mode(theirs) ?? mode(ours) ?? 0o644];
  return { type: "file", mode: agreed(mode(base), o, t) ?? o, size: bytes.length, hash: await trees.objects.put(bytes) };
}

/** Contents have merged: only the permissions are theirs. */
async function withMode(trees: Trees, tree: string, { path, entries: { theirs } }: FileConflict): Promise<string> {
  const now = await trees.entry(tree, path);
  if (now === undefined || !("mode" in now) || theirs === undefined || !("mode" in theirs)) return tree;
  return trees.with(tree, path, { ...now, mode: theirs.mode });
}

/** Without a path, and without the directories above it that held nothing else: who removed it removed those. */
async function removed(trees: Trees, tree: string, path: string): Promise<string> {
  let without = await trees.with(tree, path, undefined);
  for (let at = path; at.includes("/"); ) {
    at = at.slice(0, at.lastIndexOf("/"));
    const entry = await trees.entry(without, at);
    if (entry?.type !== "directory" || entry.hash !== emptyTree) break;
    without = await trees.with(without, at, undefined);
  }
  return without;
}
