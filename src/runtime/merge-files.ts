/** The files of a merge: three ways for each path, from the best common ancestor; what both sides changed differently is a conflict. */
import { RathError } from "../session/errors.ts";
import { stateOf } from "../session/fold.ts";
import { isAncestor, type Node } from "../session/log.ts";
import type { Conflict } from "../session/session.ts";
import { type FileConflict, resolve } from "../workspace/conflict.ts";
import { mergeTrees } from "../workspace/merge.ts";
import { emptyTree, type Trees } from "../workspace/tree.ts";
import { bases } from "./merge.ts";
import type { Sandboxes } from "./sandboxes.ts";
import type { Choice, Contested } from "./settle.ts";

/** Files of several branches together; conflicting paths are the receiver's until they are settled. */
export interface MergedFiles {
  readonly tree: string;
  readonly conflicts: readonly FileConflict[];
}

/** Folds the others into the receiver, in their order. */
export async function mergeFiles(sandboxes: Sandboxes, trees: Trees, head: Node, others: readonly Node[]): Promise<MergedFiles> {
  let tree = await treeOf(sandboxes, head, head, others[0] ?? head);
  const conflicts: FileConflict[] = [];
  for (const other of others) {
    if (isAncestor(other, head)) continue;
    const base = await baseOf(sandboxes, head, other);
    const theirs = await treeOf(sandboxes, other, head, other);
    if (tree !== base && theirs !== base) refusePlacements(sandboxes, head, other);
    const merged = await mergeTrees(trees, base, tree, theirs);
    tree = merged.tree;
    conflicts.push(...merged.conflicts);
  }
  return { tree, conflicts };
}

/** A placement of another kind or image is another world, where both sides wrote. */
function refusePlacements({ platform }: Sandboxes, ours: Node, theirs: Node): void {
  const [a, b] = [ours, theirs].map((side) => stateOf(side).placement?.data<"placement.changed">(platform));
  if (a === undefined || b === undefined || (a.sandbox === b.sandbox && a.spec["image"] === b.spec["image"])) return;
  throw new RathError(
    "merge.refused",
    `Session ${theirs.log.id} wrote in "${b.sandbox}", the receiver in "${a.sandbox}": branches of different placements cannot be merged.`,
    { details: { ours: a.sandbox, theirs: b.sandbox } },
  );
}

/** The tree at a place; where it was never used, the one that others took from the same directory. */
async function treeOf(sandboxes: Sandboxes, place: Node, ours: Node, theirs: Node): Promise<string> {
  const state = stateOf(place);
  const recorded = sandboxes.recordedTreeAt(state);
  if (recorded !== undefined || state.base === undefined) return recorded ?? emptyTree;
  const found = [ours, theirs].flatMap((side) => sandboxes.firstTree(side, state.base as Node) ?? []);
  // What these branches found there, not what others may have found since.
  const [first = sandboxes.knownTreeAt(state) ?? emptyTree, second = first] = found;
  if (first !== second) throw refused(`the branches took different files from the same directory, which had changed meanwhile`, [place]);
  return first;
}

async function baseOf(sandboxes: Sandboxes, ours: Node, theirs: Node): Promise<string> {
  const found = bases(ours, theirs);
  const trees = await Promise.all(found.map((base) => treeOf(sandboxes, base, ours, theirs)));
  if (new Set(trees).size > 1) throw refused(`they have ${found.length} best common ancestors that differ in files`, found);
  return trees[0] ?? emptyTree;
}

function refused(problem: string, places: readonly Node[]): RathError {
  return new RathError(
    "merge.refused",
    `These branches cannot be merged: ${problem} (${places.map(({ id }) => id.slice(0, 12)).join(", ")}). Merge those first.`,
    { details: { bases: places.map(({ id }) => id) } },
  );
}

/** What is stored of how a conflict was settled. */
export type Resolved = { readonly path: string; readonly how: "ours" | "theirs" | "content" };

/** The files after conflicts were settled. */
export async function withChoices(
  trees: Trees,
  { tree, conflicts }: MergedFiles,
  choices: ReadonlyMap<string, Choice>,
): Promise<{ readonly tree: string; readonly resolved: readonly Resolved[] }> {
  let settled = tree;
  const resolved: Resolved[] = [];
  for (const conflict of conflicts) {
    const choice = choices.get(conflict.path) as Choice;
    settled = await resolve(trees, settled, conflict, choice);
    resolved.push({ path: conflict.path, how: typeof choice === "string" ? choice : "content" });
  }
  return { tree: settled, resolved };
}

/** So much of a file is shown to whoever settles a conflict. */
const shownCharacters = 20_000;

/** A conflict as users see it, and as it is shown to whoever settles it. */
export function contestedFile(trees: Trees, { path, problem, base, ours, theirs }: FileConflict): Contested {
  const text = async (hash: string | undefined): Promise<string | null> =>
    hash === undefined
      ? null
      : Buffer.from(await trees.objects.get(hash))
          .toString()
          .slice(0, shownCharacters);
  const conflict: Conflict = {
    kind: "file",
    path,
    problem,
    ...(base === undefined ? {} : { base }),
    ...(ours === undefined ? {} : { ours }),
    ...(theirs === undefined ? {} : { theirs }),
  };
  return {
    name: path,
    problem,
    conflict,
    // Files are written by tools.
    trust: "untrusted",
    texts: async () => ({ base: await text(base), ours: await text(ours), theirs: await text(theirs) }),
  };
}
