/**
 * What nobody needs any more below a home: checkouts whose process is gone, what was being removed, bases and memories of captures
 * that were not used for a while. All of it can be made again from the store.
 */
import { readdir, readFile, rm, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { RathError } from "../session/errors.ts";
import { Bases } from "./bases.ts";
import { DiskUse } from "./disk-use.ts";
import { emptyTrash, leftTrash, orphans, removeOrphan } from "./owner.ts";

export interface Leftover {
  readonly kind: "sandbox" | "base" | "capture" | "trash";
  readonly id: string;
  readonly path: string;
  /** On disk. */
  readonly bytes: number;
}

/** Orphans and trash, whatever their age; bases and memories from before a time, in milliseconds since 1970. */
export async function leftovers(home: string, before: number): Promise<readonly Leftover[]> {
  const bases = new Bases(home);
  const found = [
    ...(await orphans(home)).map(({ id, directory }) => ({ kind: "sandbox" as const, id, path: directory })),
    ...(await leftTrash(home)).map((path) => ({ kind: "trash" as const, id: basename(path), path })),
    ...(await bases.unused(before)).map((tree) => ({ kind: "base" as const, id: tree, path: bases.path(tree) })),
    ...(await bases.oldBoots()).map((boot) => ({ kind: "base" as const, id: boot, path: bases.folder(boot) })),
    ...(await captures(home, before)).map((path) => ({ kind: "capture" as const, id: basename(path), path })),
  ];
  return Promise.all(found.map(async (one) => ({ ...one, bytes: await sizeOf(one.path) })));
}

/** Removes them; what somebody uses by now stays. */
export async function removeLeftovers(home: string, found: readonly Leftover[], before: number): Promise<void> {
  const sandboxes = new Set(found.flatMap(({ kind, id }) => (kind === "sandbox" ? [id] : [])));
  for (const orphan of await orphans(home)) if (sandboxes.has(orphan.id)) await removeOrphan(home, orphan).catch(unlessInUse);
  for (const { kind, path } of found) {
    if (kind === "trash") await emptyTrash(path);
    if (kind === "capture") await rm(path, { force: true });
  }
  const bases = new Bases(home);
  await bases.prune(before);
  await bases.pruneUnfinished();
}

/** Somebody opened it meanwhile: then it is none. */
function unlessInUse(error: unknown): void {
  if (!RathError.is(error)) throw error;
}

/** The newest trees that captures remember: they are to stay as long as the memories do. */
export async function rememberedTrees(home: string): Promise<readonly string[]> {
  const heads = await Promise.all(
    (await captures(home)).map(async (path) => (await readFile(path).catch(() => Buffer.of())).toString("latin1", 0, 64)),
  );
  return heads.filter((tree) => /^[0-9a-f]{64}$/.test(tree));
}

/** After objects were removed nothing may be taken for known that was seen before. */
export async function forgetCaptures(home: string): Promise<void> {
  await rm(join(home, "captures"), { recursive: true, force: true });
}

async function captures(home: string, before = Number.POSITIVE_INFINITY): Promise<readonly string[]> {
  const folder = join(home, "captures");
  const paths = (await readdir(folder).catch(() => [])).map((name) => join(folder, name));
  const aged = await Promise.all(paths.map(async (path) => ({ path, at: (await stat(path).catch(() => undefined))?.mtimeMs })));
  return aged.flatMap(({ path, at }) => (at !== undefined && at < before ? [path] : []));
}

/** Bytes on disk of a file, or of a directory with all below it. */
export async function sizeOf(path: string): Promise<number> {
  const found = await stat(path).catch(() => undefined);
  return found?.isDirectory() === true ? new DiskUse(path).now() : (found?.size ?? 0);
}
