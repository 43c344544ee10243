/**
 * What belongs to a git repository itself: a folder `.git`, or the file that a worktree or submodule has in its place. It is part of
 * the recorded tree, since commands use git, but never leaves it: hooks and configuration in it are programs that the next `git`
 * outside a sandbox would run.
 */
import type { Applied, Change } from "../session/session.ts";
import { fold } from "./fold.ts";

/** Whether a path is a `.git` or lies in one. Every spelling counts that some file system takes for it, as in git's own checks. */
export function isInGit(path: string): boolean {
  return path.split(separators).some(isGit);
}

/** Whether some file system takes a name for `.git`. */
export function isGit(name: string): boolean {
  // Names are compared on every change: most are told apart by their first letters.
  if (!suspicious.test(name)) return false;
  const plain = fold(name.replace(invisible, ""))
    .replace(/:.*$/s, "")
    .replace(/[. ]+$/, "");
  return plain === ".git" || plain === "git~1";
}

/** Changes that may leave the tree, and those that may not. */
export function splitGit(changes: readonly Change[]): { readonly outside: readonly Change[]; readonly inGit: readonly Change[] } {
  return { outside: changes.filter(({ path }) => !isInGit(path)), inGit: changes.filter(({ path }) => isInGit(path)) };
}

/** A list of what was written. What was left out shows where it is printed; where nothing was, it is a list like any other. */
export function appliedOf(changes: readonly Change[], leftOut: readonly Change[]): Applied {
  return Object.defineProperty([...changes], "leftOut", { value: leftOut, enumerable: leftOut.length > 0 }) as readonly Change[] as Applied;
}

/** Windows takes both. */
const separators = /[/\\]/;
/** macOS and Linux with folded names pass over these letters. */
const invisible = /\p{Default_Ignorable_Code_Point}/gu;
const suspicious = /^(?:\.|g|\p{Default_Ignorable_Code_Point})/iu;
