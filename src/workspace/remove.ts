/** Removes what is in the way, whatever it is. Links are removed, never followed. */
import { randomBytes } from "node:crypto";
import { renameSync, rmdirSync, unlinkSync } from "node:fs";
import { isCode, type Place } from "./place.ts";
import type { Slices } from "./slices.ts";

/** A name that nothing else has. */
export function temporaryName(): string {
  return `.openrath-${randomBytes(9).toString("hex")}`;
}

/** Removes an entry with all below it, also from directories that are not writable. Only for directories that are ours. */
export async function clear(place: Place, name: string, slices: Slices): Promise<void> {
  const stat = place.stat(name);
  if (stat === undefined) return;
  if (!stat.isDirectory()) return unlink(place, name);
  // What lies too deep is moved up and removed from there, so that no depth takes more descriptors than there are.
  const moved = [name];
  for (let next = moved.pop(); next !== undefined; next = moved.pop())
    await clearDirectory(place, next, { top: place, moved, depth: 0, slices });
}

interface Clearing {
  readonly top: Place;
  readonly moved: string[];
  readonly depth: number;
  readonly slices: Slices;
}

const deepest = 64;

async function clearDirectory(place: Place, name: string, clearing: Clearing): Promise<void> {
  const inner = place.enter(name);
  if (inner === undefined) return unlink(place, name);
  try {
    if (((place.stat(name)?.mode ?? 0n) & 0o700n) !== 0o700n) inner.chmodSelf(0o700);
    for (const child of inner.names()) {
      if (clearing.slices.due) await clearing.slices.rest();
      if (inner.stat(child)?.isDirectory() !== true) unlink(inner, child);
      else if (clearing.depth < deepest) await clearDirectory(inner, child, { ...clearing, depth: clearing.depth + 1 });
      else moveUp(inner, child, clearing);
    }
  } finally {
    inner.close();
  }
  rmdirSync(place.at(name));
}

function moveUp(inner: Place, child: string, { top, moved }: Clearing): void {
  const name = temporaryName();
  // A directory can only be moved by who may write to it: its ".." changes.
  inner.chmod(child, 0o700);
  renameSync(inner.at(child), top.at(name));
  moved.push(name);
}

/** Removes what is no directory. */
export function unlink(place: Place, name: string): void {
  try {
    unlinkSync(place.at(name));
  } catch (error) {
    if (!isCode(error, "ENOENT")) throw error;
  }
}
