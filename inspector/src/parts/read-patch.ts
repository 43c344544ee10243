/** Patches as the page draws them: read, harmless, and never more of them than can be looked at. */
import { type FileData, type HunkData, parseDiff } from "react-diff-view";
import { neutral } from "../../../src/wire/neutral.ts";
import { cutLines, type ShownPart } from "./long-lines.ts";

export interface FilePatch {
  /** Which one of the patch it is, from 0 on. */
  readonly place: number;
  readonly path: string;
  /** The name it had before, where that is another one. */
  readonly was: string | undefined;
  readonly type: FileData["type"];
  readonly hunks: readonly HunkData[];
  /** Of lines that are too long to be looked at, by the keys of their changes. */
  readonly parts: ReadonlyMap<string, ShownPart>;
  readonly added: number;
  readonly removed: number;
  readonly binary: boolean;
}

const mostRead = 5_000_000;

/** Undefined: it is no patch, or none that can be read. */
export function readPatch(patch: string, path: string | undefined): readonly FilePatch[] | undefined {
  const text = neutral(patch.slice(0, mostRead));
  const whole = text.startsWith("diff --git ") || text.includes("\ndiff --git ") ? text : headed(text, path ?? "file");
  try {
    const files = parseDiff(whole).map((file, place) => filePatch(file, place, path));
    return files.length > 0 && files.some(({ hunks, binary, type }) => hunks.length > 0 || binary || type !== "modify") ? files : undefined;
  } catch {
    return undefined;
  }
}

function filePatch(file: FileData, place: number, path: string | undefined): FilePatch {
  const name = file.type === "delete" ? file.oldPath : file.newPath;
  let [added, removed] = [0, 0];
  for (const { changes } of file.hunks)
    for (const { type } of changes) {
      if (type === "insert") added++;
      else if (type === "delete") removed++;
    }
  const parts = new Map<string, ShownPart>();
  const hunks = file.hunks.map((hunk) => cutLines(hunk, parts));
  return {
    place,
    path: name === "" || name === "/dev/null" ? (path ?? "file") : name,
    was: file.type === "rename" || file.type === "copy" ? file.oldPath : undefined,
    ...{ type: file.type, hunks, parts, added, removed, binary: file.isBinary === true },
  };
}

/** The first changes of a file, so many of them. */
export function firstChanges(hunks: readonly HunkData[], most: number): readonly HunkData[] {
  const shown: HunkData[] = [];
  let left = most;
  for (const hunk of hunks) {
    if (left <= 0) break;
    shown.push(hunk.changes.length <= left ? hunk : { ...hunk, changes: hunk.changes.slice(0, left) });
    left -= hunk.changes.length;
  }
  return shown;
}

function headed(text: string, path: string): string {
  const names = text.startsWith("--- ") || text.includes("\n--- ") ? "" : `--- a/${path}\n+++ b/${path}\n`;
  return `diff --git a/${path} b/${path}\n${names}${text}`;
}
