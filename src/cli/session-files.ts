/** The files of a session as commands compare them: what it began with, what it has, and what differs. */
import { takenBy } from "../runtime/file-verbs.ts";
import { runtimeOf } from "../runtime/replay.ts";
import { stateOf } from "../session/fold.ts";
import type { Change, Files, Session } from "../session/session.ts";
import { placeOf } from "../session/value.ts";
import { filesOf } from "../workspace/files.ts";
import { lineHunks, splitLines, textFrom } from "../workspace/lines.ts";
import { patchBetween } from "../workspace/patch.ts";

/** The files at a place. Where nothing was used yet, those that later work found in the same directory. */
export function filesAt(session: Session, later: Session = session): Files {
  const runtime = runtimeOf(session);
  const { node } = placeOf(session);
  const tree = runtime.treeAt(stateOf(node), placeOf(later).node);
  return filesOf(runtime.sandboxes.trees, tree, () => takenBy(runtime.sandboxes, node) ?? tree);
}

/** The files that a session took from its directory; none when it began without one. */
export function filesTaken(session: Session): Files {
  const { sandboxes } = runtimeOf(session);
  const tree = takenBy(sandboxes, placeOf(session).node) ?? session.files.hash;
  return filesOf(sandboxes.trees, tree, () => tree);
}

/** The patch of some of what a session changed since it took its files. */
export function patchTaken(session: Session, changes: readonly Change[]): Promise<string> {
  if (changes.length === 0) return Promise.resolve("");
  return patchBetween(runtimeOf(session).sandboxes.trees, filesTaken(session).hash, session.files.hash, {
    paths: changes.map(({ path }) => path),
  });
}

export interface LineCount {
  readonly added: number;
  readonly removed: number;
}

/** Lines that a change adds and removes; undefined where there are none to count: binary files, links, directories. */
export async function linesChanged(session: Session, since: Files, now: Files, { path }: Change): Promise<LineCount | undefined> {
  const { trees } = runtimeOf(session).sandboxes;
  const linesIn = async (tree: string): Promise<readonly string[] | undefined> => {
    const entry = await trees.entry(tree, path);
    if (entry?.type !== "file") return entry === undefined ? [] : undefined;
    const text = textFrom(await trees.objects.get(entry.hash));
    return text === undefined ? undefined : splitLines(text);
  };
  const [before, after] = [await linesIn(since.hash), await linesIn(now.hash)];
  if (before === undefined || after === undefined) return undefined;
  const hunks = lineHunks(before, after) ?? [{ start: 0, end: before.length, from: 0, to: after.length }];
  return hunks.reduce((sum, { start, end, from, to }) => ({ added: sum.added + to - from, removed: sum.removed + end - start }), {
    added: 0,
    removed: 0,
  });
}
