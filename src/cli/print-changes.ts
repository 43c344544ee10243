/** Changed files, and the patch between two states of them. */
import type { Change } from "../session/session.ts";
import type { Cli } from "./cli.ts";
import { type Column, printList } from "./print-list.ts";
import type { LineCount } from "./session-files.ts";
import { type Showable, Shown, show, toShown } from "./shown.ts";

export type Counted = Change & { readonly lines?: LineCount | undefined };

export function printChanges(cli: Cli, changes: readonly Counted[], options: { readonly stat?: boolean; readonly empty: Shown }): void {
  const lines: Column<Counted>[] = (["added", "removed"] as const).map((side) => ({
    name: side === "added" ? "+" : "-",
    cell: (change) => (change.lines === undefined ? "" : countInk(cli, side, change.lines[side])),
    plain: (change) => change.lines?.[side] ?? "",
    right: true,
  }));
  printList(cli, changes, {
    columns: [
      { name: "CHANGE", cell: (change) => kindInk(cli, change), plain: kindOf },
      ...(options.stat === true ? lines : []),
      { name: "PATH", cell: ({ path }) => path },
    ],
    data: (change) => change,
    empty: options.empty,
  });
}

/** What happened to it, in one word. */
export function kindOf({ kind, of }: Change): string {
  return of ?? kind;
}

function kindInk(cli: Cli, change: Change): Shown {
  const paint = { added: cli.ink.green, changed: cli.ink.yellow, removed: cli.ink.red }[change.kind];
  return paint(kindOf(change));
}

function countInk(cli: Cli, side: keyof LineCount, lines: number): Showable {
  if (lines === 0) return lines;
  return side === "added" ? cli.ink.green(lines) : cli.ink.red(lines);
}

/** For people coloured and harmless; to a file or another program byte for byte, since `git apply` reads it: what is not in it is told beside. */
export function printPatch(cli: Cli, patch: string): void {
  if (patch === "") return;
  for (const line of patch.replace(/\n$/, "").split("\n")) {
    cli.print(cli.host.out.isTTY ? patchLine(cli, line) : new Shown(line, 0));
    // Lines of files have a sign before them.
    if (!cli.host.out.isTTY && line.startsWith("# ")) cli.note(show`${cli.errInk.dim("not in the patch:")} ${line.slice(2)}`);
  }
}

function patchLine(cli: Cli, line: string): Shown {
  const { bold, dim, red, green, cyan } = cli.ink;
  if (/^(?:diff --git |--- |\+\+\+ |(?:new|deleted) file mode |(?:old|new) mode )/.test(line)) return bold(line);
  if (line.startsWith("@@")) return cyan(line);
  if (line.startsWith("+")) return green(line);
  if (line.startsWith("-")) return red(line);
  return line.startsWith("#") || line.startsWith("\\") ? dim(line) : show`${toShown(line)}`;
}
