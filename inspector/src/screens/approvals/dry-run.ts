/**
 * What the tools that write files would change, told from what they were given and the file as it is on record. Nothing is run. Only
 * the tools that come with OpenRath are known; of others nobody can say before they have run.
 */

export interface DiffLine {
  readonly kind: "same" | "removed" | "added";
  readonly text: string;
  /** In the file before, or after for what is added. */
  readonly number: number;
}

export type DryRun =
  | { readonly path: string; readonly isNew: boolean; readonly lines: readonly DiffLine[]; readonly cut: number }
  | { readonly path: string; readonly problem: string };

export type FileCall =
  | { readonly tool: "edit_file"; readonly path: string; readonly find: string; readonly replace: string; readonly all: boolean }
  | { readonly tool: "write_file"; readonly path: string; readonly content: string };

/** The call as one of a known tool; undefined: nothing can be told. */
export function fileCallOf(tool: string, input: unknown): FileCall | undefined {
  const { path, find, replace, content, all } = (input ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof path !== "string" || path === "") return undefined;
  if (tool === "edit_file" && typeof find === "string" && typeof replace === "string")
    return { tool, path, find, replace, all: all === true };
  return tool === "write_file" && typeof content === "string" ? { tool, path, content } : undefined;
}

/** `before` is what is in the file; undefined: it is not there. */
export function dryRun(call: FileCall, before: string | undefined): DryRun {
  const { path } = call;
  if (call.tool === "write_file") return { path, isNew: before === undefined, ...changeBetween(before ?? "", call.content) };
  if (before === undefined) return { path, problem: "There is no such file on record: the call would fail." };
  const [find, replace] = withLineEndsOf(before, call);
  const times = find === "" ? 0 : before.split(find).length - 1;
  if (times === 0) return { path, problem: "The text to replace is not in the file: the call would fail." };
  if (times > 1 && !call.all) return { path, problem: `The text to replace is in the file ${times} times: the call would fail.` };
  return {
    path,
    isNew: false,
    ...changeBetween(
      before,
      before.replaceAll(find, () => replace),
    ),
  };
}

function withLineEndsOf(text: string, { find, replace }: { readonly find: string; readonly replace: string }): readonly [string, string] {
  const asCrlf = (part: string): string => part.replace(/\r?\n/g, "\r\n");
  if (text.includes(find) || !text.includes("\r\n")) return [find, replace];
  return [asCrlf(find), asCrlf(replace)];
}

const around = 3;
const most = 300;
const longest = 400;

/** One change from the first line that differs to the last one, with a few lines around it. */
export function changeBetween(before: string, after: string): { readonly lines: readonly DiffLine[]; readonly cut: number } {
  const [old, now] = [linesOf(before), linesOf(after)];
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start++;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old[old.length - 1 - end] === now[now.length - 1 - end]) end++;
  if (start === old.length && start === now.length) return { lines: [], cut: 0 };
  const from = Math.max(0, start - around);
  const line = (kind: DiffLine["kind"], text: string, index: number): DiffLine => ({
    kind,
    text: text.slice(0, longest),
    number: index + 1,
  });
  const lines = [
    ...old.slice(from, start).map((text, index) => line("same", text, from + index)),
    ...old.slice(start, old.length - end).map((text, index) => line("removed", text, start + index)),
    ...now.slice(start, now.length - end).map((text, index) => line("added", text, start + index)),
    ...now.slice(now.length - end, now.length - end + around).map((text, index) => line("same", text, now.length - end + index)),
  ];
  return { lines: lines.slice(0, most), cut: Math.max(0, lines.length - most) };
}

function linesOf(text: string): readonly string[] {
  const lines = text.split(/\r?\n/);
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}
