/** The files that differ between two trees, each with its patch, as long as there is room. */
import type { Change } from "../session/session.ts";
import { changesBetween } from "../workspace/diff.ts";
import { patchOf } from "../workspace/patch.ts";
import type { Entry, Trees } from "../workspace/tree.ts";
import type { DiffFile } from "./diff-data.ts";

/** In characters, of all patches together. */
const mostPatch = 1024 * 1024;

interface FilesOptions {
  /** Only these, which are known. */
  readonly changes?: readonly Change[] | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** All of them, or only some that are known. */
export async function filesBetween(
  trees: Trees,
  a: string,
  b: string,
  { changes, signal }: FilesOptions = {},
): Promise<readonly DiffFile[]> {
  const files: DiffFile[] = [];
  let room = mostPatch;
  for (const change of changes ?? (await changesBetween(trees, a, b))) {
    signal?.throwIfAborted();
    const [before, after] = [await trees.entry(a, change.path), await trees.entry(b, change.path)];
    const patch = sizeOf(before) + sizeOf(after) > 2 * room ? undefined : await patchOf(trees, change.path, before, after);
    if (patch === undefined || patch.length > room) {
      files.push(change);
      continue;
    }
    room -= patch.length;
    const lines = change.of === undefined ? linesIn(patch) : undefined;
    files.push({ ...change, patch, ...(lines === undefined ? {} : { lines }) });
  }
  return files;
}

function sizeOf(entry: Entry | undefined): number {
  return entry?.type === "file" ? entry.size : 0;
}

/** What its hunks add and remove. */
function linesIn(patch: string): DiffFile["lines"] {
  const hunks = patch.indexOf("\n@@ ");
  if (hunks < 0) return undefined;
  const lines = patch.slice(hunks + 1).split("\n");
  return { added: lines.filter((line) => line.startsWith("+")).length, removed: lines.filter((line) => line.startsWith("-")).length };
}
