/**
 * Writes to a user's directory what changed between two trees: the one that was captured there, and the one that work led to. All
 * is looked at before anything is written, and nothing is written when somebody changed the same paths meanwhile. What the trees do
 * not name is not touched, nor is anything in a `.git`.
 */
import type { BigIntStats } from "node:fs";
import { RathError } from "../session/errors.ts";
import type { Applied } from "../session/session.ts";
import { ApplyPlan, isUnder, type PlanOptions } from "./apply-plan.ts";
import { changesBetween } from "./diff.ts";
import { appliedOf, isInGit } from "./git-folder.ts";
import { ObjectMap, type Objects } from "./objects.ts";
import { normalPath } from "./path.ts";
import { Place } from "./place.ts";
import { restore } from "./restore.ts";
import { looksLike } from "./stat-cache.ts";
import type { Trees } from "./tree.ts";

export interface ApplyOptions extends PlanOptions {
  /** Checks and tells, but writes nothing. */
  readonly dryRun?: boolean | undefined;
}

/**
 * Writes what leads from `base` to `target`, and tells what that was. A path that is in the directory as in `target` already is left
 * out. Rejects with `workspace.changed` and all paths in `details.paths` when any is neither as in `base` nor as in `target`; with
 * `workspace.invalid` when names collide on this file system. What `target` could not keep (withheld contents, sockets, devices) is
 * neither written nor removed, nor is what it changed in a `.git`: that is listed in `leftOut`.
 */
export async function applyTo(trees: Trees, directory: string, base: string, target: string, options: ApplyOptions = {}): Promise<Applied> {
  // The tree in between is of no use afterwards: it stays out of the store.
  const aside = trees.over(asideOf(trees.objects));
  const root = Place.open(directory);
  try {
    const plan = new ApplyPlan(aside, root, options);
    const goal = await plan.make(base, target);
    const changes = (await changesBetween(aside, base, goal)).filter(({ path }) => !plan.gone.has(path));
    const applied = appliedOf(changes, await leftOut(trees, base, target, options.paths));
    if (options.dryRun === true) return applied;
    const guard = (path: string, stat: BigIntStats | undefined): void => unchanged(path, plan.looks, stat);
    await restore(aside, directory, base, goal, { own: false, guard, signal: options.signal });
    return applied;
  } finally {
    root.close();
  }
}

/** What was chosen and lies in a `.git`. */
async function leftOut(trees: Trees, base: string, target: string, paths: readonly string[] | undefined): Promise<Applied["leftOut"]> {
  const chosen = paths?.map(normalPath) ?? [""];
  return (await changesBetween(trees, base, target)).filter(({ path }) => isInGit(path) && isUnder(path, chosen));
}

/** Between looking and writing there is a moment in which others may write. */
function unchanged(path: string, looks: ReadonlyMap<string, BigIntStats | undefined>, stat: BigIntStats | undefined): void {
  const look = looks.get(path);
  // A directory changes with what is in it, and goes only when it is empty.
  if (!looks.has(path) || look?.isDirectory() === true) return;
  if (look === undefined ? stat === undefined : stat !== undefined && looksLike(stat, look)) return;
  throw new RathError(
    "workspace.changed",
    `${JSON.stringify(path)} was changed while the directory was written: what follows it was not.`,
    {
      details: { paths: [path] },
    },
  );
}

/** Objects over others, which get none of what is put. */
function asideOf(objects: Objects): Objects {
  const aside = new ObjectMap();
  return {
    get: async (hash) => aside.map.get(hash) ?? objects.get(hash),
    put: (bytes) => aside.put(bytes),
    erased: async () => (await objects.erased?.()) ?? new Set(),
  };
}
