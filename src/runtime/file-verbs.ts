/** What sessions do with files as a whole: read them, merge them, write them back. */
import { resolve } from "node:path";
import { RathError } from "../session/errors.ts";
import { stateOf } from "../session/fold.ts";
import type { Node } from "../session/log.ts";
import type { Applied, ApplyOptions, Files } from "../session/session.ts";
import { changesBetween } from "../workspace/diff.ts";
import { filesOf } from "../workspace/files.ts";
import { appliedOf, isInGit } from "../workspace/git-folder.ts";
import { normalPath } from "../workspace/path.ts";
import { emptyTree } from "../workspace/tree.ts";
import type { Sandboxes } from "./sandboxes.ts";

/** The files at a place, as far as is known without looking at any directory. */
export function filesAt(sandboxes: Sandboxes, node: Node): Files {
  const known = sandboxes.knownTreeAt(stateOf(node));
  const tree = known ?? emptyTree;
  const files = filesOf(sandboxes.trees, tree, () => takenBy(sandboxes, node) ?? tree);
  return known === undefined ? { ...files, read: unread, text: unread } : files;
}

/** Rejects: nobody has looked into the directory of the placement. */
export async function unread(path: string): Promise<never> {
  throw new RathError(
    "workspace.not-found",
    `${JSON.stringify(path)} was not looked for: the directory of a placement is read when a tool first uses it, and none has yet.`,
    { details: { path } },
  );
}

/** The tree that a place took from its directory: empty when it began without one, undefined when it has not used it yet. */
export function takenBy(sandboxes: Sandboxes, node: Node): string | undefined {
  const { base } = stateOf(node);
  return base === undefined ? emptyTree : sandboxes.firstTree(node, base);
}

/** Writes back what was changed since the files were taken; nothing when none were. */
export async function applyFiles(sandboxes: Sandboxes, node: Node, directory: string, options: ApplyOptions): Promise<Applied> {
  const target = sandboxes.knownTreeAt(stateOf(node));
  const base = takenBy(sandboxes, node);
  if (target === undefined || base === undefined) return appliedOf([], []);
  refuseGit(options.paths ?? []);
  await refuseUnchanged(sandboxes, base, target, options.paths ?? []);
  const { applyTo } = await import("../workspace/apply.ts");
  return applyTo(sandboxes.trees, resolve(directory), base, target, options);
}

/** Whoever names such a path expects it to be written. */
function refuseGit(paths: readonly string[]): void {
  const wrong = paths.find((path) => isInGit(normalPath(path)));
  if (wrong !== undefined)
    throw new RathError("workspace.invalid", `Nothing was written: ${wrong} is in a .git, which stays in the session.`, {
      details: { path: wrong },
    });
}

/** A path that nothing changed at is a mistake. */
async function refuseUnchanged({ trees }: Sandboxes, base: string, target: string, paths: readonly string[]): Promise<void> {
  const changed = paths.length === 0 ? [] : await changesBetween(trees, base, target);
  const wrong = paths
    .map(normalPath)
    .find((path) => path !== "" && !changed.some((one) => one.path === path || one.path.startsWith(`${path}/`)));
  if (wrong !== undefined)
    throw new RathError("workspace.not-found", `The session changed nothing at ${wrong}.`, { details: { path: wrong } });
}
