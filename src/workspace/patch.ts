/** The difference of two trees as a patch, in the format of git: for people to read and for `git apply`. */
import { counted } from "../session/counted.ts";
import type { Change } from "../session/session.ts";
import { binaryPatch } from "./binary-patch.ts";
import { changesBetween } from "./diff.ts";
import { splitGit } from "./git-folder.ts";
import { type Hunk, lineHunks, splitLines, textFrom } from "./lines.ts";
import { bytesOf } from "./name.ts";
import { normalPath } from "./path.ts";
import type { Entry, Trees } from "./tree.ts";

export interface PatchOptions {
  /** Only what is at these paths or below them. Default: everything. */
  readonly paths?: readonly string[] | undefined;
  /** Equal lines around a change. Default: 3. */
  readonly context?: number | undefined;
  /** In bytes: files that would make the patch longer are named without their text. Default: 8 MiB. */
  readonly limit?: number | undefined;
  /** Whether binary files are in it, as `git apply` takes them, or only named, for people. Default: in it. */
  readonly binary?: "whole" | "named" | undefined;
}

/**
 * What leads from one tree to another. As in git: of permissions only whether a file can be executed, and no empty directories. What a patch cannot show (special files, contents that were not kept or are too large) has a line
 * that begins with "#", which `git apply` passes over. What is in a `.git` is left out: the first line tells how much.
 */
export async function patchBetween(trees: Trees, a: string, b: string, options: PatchOptions = {}): Promise<string> {
  const { binary = "whole" } = options;
  const context = Math.max(0, options.context ?? 3);
  const paths = options.paths?.map(normalPath);
  let room = options.limit ?? defaultLimit;
  const wanted = (await changesBetween(trees, a, b)).filter((change) => paths === undefined || paths.some((path) => isAt(change, path)));
  const { outside, inGit } = splitGit(wanted);
  const parts: string[] = inGit.length === 0 ? [] : [`# .git stays in the session: ${counted(inGit.length, "change")} left out\n`];
  for (const change of outside) {
    const [before, after] = [await trees.entry(a, change.path), await trees.entry(b, change.path)];
    const part =
      sizeOf(before) + sizeOf(after) > room * 2 ? undefined : await patchOf(trees, change.path, before, after, { context, binary });
    const length = part === undefined ? Number.POSITIVE_INFINITY : Buffer.byteLength(part);
    if (part !== undefined && length <= room) parts.push(part);
    else parts.push(`# ${quoted("", change.path)}: ${change.kind}, too large to show here\n`);
    room -= length <= room ? length : 0;
  }
  return parts.join("");
}

const defaultLimit = 8 * 1024 * 1024;

function isAt({ path }: Change, place: string): boolean {
  return place === "" || path === place || path.startsWith(`${place}/`);
}

function sizeOf(entry: Entry | undefined): number {
  return entry?.type === "file" ? entry.size : 0;
}

type PartOptions = Pick<PatchOptions, "context" | "binary">;

/** The part of one path; binary files are only named, unless they are asked for. */
export async function patchOf(
  trees: Trees,
  path: string,
  a: Entry | undefined,
  b: Entry | undefined,
  options: PartOptions = {},
): Promise<string> {
  const note = noteOf(path, a, b);
  if (note !== undefined) return note;
  const [before, after] = [await blobOf(trees, a), await blobOf(trees, b)];
  if (before === undefined && after === undefined) return "";
  // A file that becomes a link, or the reverse, is in git the end of one and the start of another.
  if (before !== undefined && after !== undefined && before.link !== after.link)
    return (await onePatch(path, before, undefined, options)) + (await onePatch(path, undefined, after, options));
  return onePatch(path, before, after, options);
}

/** A line for what no patch can show. */
function noteOf(path: string, a: Entry | undefined, b: Entry | undefined): string | undefined {
  for (const entry of [b, a]) {
    if (entry?.type === "withheld" && entry.why === "erased")
      return `# ${quoted("", path)}: content was erased (${counted(entry.size, "byte")})\n`;
    if (entry?.type === "withheld") return `# ${quoted("", path)}: content was not kept (${entry.why}, ${counted(entry.size, "byte")})\n`;
    if (entry?.type === "fifo" || entry?.type === "socket" || entry?.type === "device") return `# ${quoted("", path)}: a ${entry.type}\n`;
  }
  return undefined;
}

/** A file or a link as git sees it. */
interface Blob {
  readonly mode: "100644" | "100755" | "120000";
  readonly link: boolean;
  readonly bytes: Uint8Array;
}

async function blobOf(trees: Trees, entry: Entry | undefined): Promise<Blob | undefined> {
  if (entry?.type === "link") return { mode: "120000", link: true, bytes: bytesOf(entry.target) };
  if (entry?.type !== "file") return undefined;
  return { mode: entry.mode & 0o100 ? "100755" : "100644", link: false, bytes: await trees.objects.get(entry.hash) };
}

async function onePatch(
  path: string,
  before: Blob | undefined,
  after: Blob | undefined,
  { context, binary }: PartOptions,
): Promise<string> {
  const [a, b] = [quoted("a/", path), quoted("b/", path)];
  const modes = modeLines(before, after);
  const same = before !== undefined && after !== undefined && Buffer.compare(before.bytes, after.bytes) === 0;
  if (same && modes === "") return "";
  const header = `diff --git ${a} ${b}\n${modes}`;
  const [from, to] = [before === undefined ? "/dev/null" : a, after === undefined ? "/dev/null" : b];
  const [old, now] = [before === undefined ? "" : textFrom(before.bytes), after === undefined ? "" : textFrom(after.bytes)];
  if (same || (old === "" && now === "")) return header;
  if (old === undefined || now === undefined)
    return `${header}${binary === "whole" ? await binaryPatch(before?.bytes, after?.bytes) : `Binary files ${from} and ${to} differ\n`}`;
  // Git ends a name that holds a space with a tab, for readers that expect a date behind it.
  const named = (name: string): string => (name.includes(" ") && !name.startsWith('"') ? `${name}\t` : name);
  return `${header}--- ${named(from)}\n+++ ${named(to)}\n${hunkText(splitLines(old), splitLines(now), context)}`;
}

function modeLines(before: Blob | undefined, after: Blob | undefined): string {
  if (before === undefined) return after === undefined ? "" : `new file mode ${after.mode}\n`;
  if (after === undefined) return `deleted file mode ${before.mode}\n`;
  return before.mode === after.mode ? "" : `old mode ${before.mode}\nnew mode ${after.mode}\n`;
}

/** Where two texts differ, without any names. */
export function hunkText(old: readonly string[], now: readonly string[], context = 3): string {
  // Where finding the best patch would take too long, one that replaces everything is right too.
  const hunks = lineHunks(old, now) ?? [{ start: 0, end: old.length, from: 0, to: now.length }];
  const parts: string[] = [];
  for (const group of groupsOf(hunks, context)) {
    const [first, last] = [group[0] as Hunk, group.at(-1) as Hunk];
    const start = Math.max(0, first.start - context);
    const end = Math.min(old.length, last.end + context);
    const from = first.from - (first.start - start);
    const to = last.to + (end - last.end);
    parts.push(`@@ -${range(start, end)} +${range(from, to)} @@\n`);
    let at = start;
    for (const hunk of group) {
      for (; at < hunk.start; at++) parts.push(line(" ", old[at] as string));
      for (; at < hunk.end; at++) parts.push(line("-", old[at] as string));
      for (let i = hunk.from; i < hunk.to; i++) parts.push(line("+", now[i] as string));
    }
    for (; at < end; at++) parts.push(line(" ", old[at] as string));
  }
  return parts.join("");
}

/** Changes whose context would touch are shown together. */
function groupsOf(hunks: readonly Hunk[], context: number): readonly (readonly Hunk[])[] {
  const groups: Hunk[][] = [];
  for (const hunk of hunks) {
    const last = groups.at(-1)?.at(-1);
    if (last !== undefined && hunk.start - last.end <= 2 * context) groups.at(-1)?.push(hunk);
    else groups.push([hunk]);
  }
  return groups;
}

/** Counts from one; of no lines, the one before. */
function range(start: number, end: number): string {
  const count = end - start;
  return count === 1 ? `${start + 1}` : `${count === 0 ? start : start + 1},${count}`;
}

function line(sign: string, text: string): string {
  return text.endsWith("\n") ? sign + text : `${sign}${text}\n\\ No newline at end of file\n`;
}

const escapes: Readonly<Record<number, string>> = {
  7: "\\a",
  8: "\\b",
  9: "\\t",
  10: "\\n",
  11: "\\v",
  12: "\\f",
  13: "\\r",
  34: '\\"',
  92: "\\\\",
};

/** A name as git writes it: quoted when it holds quotes, backslashes, control characters or bytes beyond ASCII. */
function quoted(prefix: string, path: string): string {
  let text = "";
  for (const byte of bytesOf(prefix + path))
    text += escapes[byte] ?? (byte < 0x20 || byte > 0x7e ? `\\${byte.toString(8).padStart(3, "0")}` : String.fromCharCode(byte));
  return text === prefix + path ? text : `"${text}"`;
}
