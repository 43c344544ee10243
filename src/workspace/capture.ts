/**
 * Takes the files of a user's directory for the first use of a placement. What was seen of the directory is remembered beside the
 * store, so that the next time only what changed is read.
 */
import { createHash, randomBytes } from "node:crypto";
import { mkdir, readFile, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { RathError } from "../session/errors.ts";
import { Ignore } from "./ignore.ts";
import { type Snapshot, type SnapshotOptions, snapshot } from "./snapshot.ts";
import { StatCache } from "./stat-cache.ts";
import { emptyTree, type Trees } from "./tree.ts";

export interface CaptureOptions extends Pick<SnapshotOptions, "withhold" | "onProgress"> {
  /** Where to remember what was seen; nowhere when left out. */
  readonly memory?: string | undefined;
  /** Files and directories that are neither recorded nor visible, wherever they are. */
  readonly hidden?: readonly string[] | undefined;
}

export async function capture(trees: Trees, directory: string, options: CaptureOptions = {}): Promise<Snapshot> {
  await assertDirectory(directory);
  const file = options.memory === undefined ? undefined : join(options.memory, createHash("sha256").update(directory).digest("hex"));
  const cache = file === undefined ? new StatCache() : await remembered(trees, file);
  const { withhold, onProgress } = options;
  const ignore = Ignore.read(directory, await pathsIn(directory, options.hidden ?? []));
  const taken = await snapshot(trees, directory, { ignore, cache, withhold, onProgress });
  if (file !== undefined && taken.hashed > 0) await remember(file, taken.tree, cache);
  return taken;
}

/** Of these, what lies in a directory, as paths in it. */
async function pathsIn(directory: string, hidden: readonly string[]): Promise<readonly string[]> {
  const root = await realpath(directory);
  const real = async (path: string): Promise<string> => join(await realpath(dirname(path)).catch(() => dirname(path)), basename(path));
  return (await Promise.all(hidden.map(real))).flatMap((path) => (path.startsWith(`${root}/`) ? [path.slice(root.length + 1)] : []));
}

async function assertDirectory(directory: string): Promise<void> {
  const found = await stat(directory).catch(() => undefined);
  if (found?.isDirectory() === true) return;
  const problem = found === undefined ? "there is nothing" : "it is no directory";
  throw new RathError("workspace.not-found", `The workspace ${directory} cannot be used: ${problem}. Name a directory that is there.`, {
    details: { path: directory },
  });
}

/** What was seen counts only in the store that has it: the newest tree of the directory is the proof. */
async function remembered(trees: Trees, file: string): Promise<StatCache> {
  const bytes = await readFile(file).catch(() => undefined);
  if (bytes === undefined || bytes.length < 64) return new StatCache();
  const tree = bytes.subarray(0, 64).toString("latin1");
  if (
    tree !== emptyTree &&
    !(await trees.objects.get(tree).then(
      () => true,
      () => false,
    ))
  )
    return new StatCache();
  return StatCache.from(bytes.subarray(64));
}

async function remember(file: string, tree: string, cache: StatCache): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 }).catch(() => undefined);
  // Several may look at one directory at the same time.
  const partial = `${file}.${randomBytes(6).toString("hex")}.partial`;
  try {
    await writeFile(partial, Buffer.concat([Buffer.from(tree, "latin1"), cache.toBytes()]), { mode: 0o600 });
    await rename(partial, file);
  } catch {
    // The files were taken all the same; the next look takes longer.
    await rm(partial, { force: true }).catch(() => undefined);
  }
}
