/** `openrath gc`: removes what nobody needs any more. All of it is garbage or a cache: nothing that can be read is lost. */
import type { Command } from "commander";
import { type Swept, sweepStore } from "../../runtime/gc.ts";
import { plural, size } from "../../wire/format.ts";
import { forgetCaptures, type Leftover, leftovers, rememberedTrees, removeLeftovers } from "../../workspace/leftovers.ts";
import type { Cli } from "../cli.ts";
import { exits, Fault } from "../fault.ts";
import { durationOf } from "../options.ts";
import { printList } from "../print-list.ts";
import { progressing } from "../progress.ts";
import { clip, show } from "../shown.ts";

interface Options {
  readonly dryRun?: boolean;
  readonly olderThan: string;
}
interface Row {
  readonly what: Leftover["kind"] | "blobs";
  readonly id: string;
  readonly bytes: number;
}

/** What others are writing now is not named by any event yet. */
const youngestMs = 3_600_000;

export function define(command: Command, cli: Cli): void {
  command
    .summary("remove what nobody needs any more")
    .description(
      "Removes sandboxes whose process is gone, shared files and memories of directories that were not used for a while, and contents in the store that no session reaches. Sessions stay as they are.",
    )
    .option("-n, --dry-run", "only show what would be removed")
    .option("--older-than <time>", "leave what is younger, like 2h or 7d; at least 1h", "1d")
    .action((options: Options) => gc(cli, options));
}

async function gc(cli: Cli, { dryRun = false, olderThan }: Options): Promise<void> {
  const before = new Date(cli.host.now().getTime() - ageOf(olderThan));
  const { runtime } = await cli.project();
  const home = runtime.sandboxes.places.home();
  const found = home === undefined ? [] : await leftovers(home, before.getTime());
  // Asked for before any memory is removed: whoever read it may rely on it still.
  const trees = home === undefined ? [] : await rememberedTrees(home);
  const store = await runtime.store();
  const swept = await progressing(cli, "looking through sessions", "events", ({ add }) =>
    sweepStore(store, { platform: runtime.platform, before, dryRun, trees, onEvent: () => add() }),
  );
  if (home !== undefined && !dryRun) {
    await removeLeftovers(home, found, before.getTime());
    // They may name what was swept.
    if (swept !== undefined && swept.blobs > 0) await forgetCaptures(home);
  }
  tell(cli, found, swept, dryRun);
}

function tell(cli: Cli, found: readonly Leftover[], swept: Swept | undefined, dryRun: boolean): void {
  const rows: Row[] = found.map(({ kind, id, bytes }) => ({ what: kind, id, bytes }));
  if (swept !== undefined && swept.blobs > 0) rows.push({ what: "blobs", id: String(swept.blobs), bytes: swept.bytes });
  const bytes = rows.reduce((sum, row) => sum + row.bytes, 0);
  if (cli.settings.json === true) {
    cli.data({ dryRun, bytes, removed: rows });
    return;
  }
  printList(cli, rows, {
    columns: [
      { name: "WHAT", cell: ({ what }) => what },
      { name: "ID", cell: ({ what, id }) => (what === "blobs" ? plural(Number(id), "blob") : clip(id, 36)), plain: ({ id }) => id },
      { name: "SIZE", cell: (row) => size(row.bytes), plain: (row) => row.bytes, right: true },
    ],
    data: (row) => row,
    empty: show`There is nothing to remove.`,
  });
  if (swept === undefined) cli.note(show`This store cannot remove contents that nobody needs: those stayed.`);
  if (rows.length === 0) return;
  cli.note(dryRun ? show`${size(bytes)} would be free; nothing was removed` : show`${cli.errInk.green("removed")} ${size(bytes)}`);
  if (!dryRun && rows.some(({ what }) => what === "blobs"))
    cli.note(cli.errInk.dim("The file of the store keeps its size: what was freed in it is used again."));
}

function ageOf(text: string): number {
  const age = durationOf(text, "--older-than");
  if (age < youngestMs)
    throw new Fault(exits.usage, `--older-than takes at least 1h, not ${text}: what is being written now is not named by any session yet.`);
  return age;
}
