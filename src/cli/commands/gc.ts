/** `openrath gc`: removes what nobody needs any more and, if told how old, sessions that nobody has touched since. */
import type { Command } from "commander";
import type { GcReport } from "../../runtime/gc.ts";
import type { Duration } from "../../session/session.ts";
import { plural, size } from "../../wire/format.ts";
import { type Leftover, leftovers, removeLeftovers } from "../../workspace/leftovers.ts";
import type { Cli } from "../cli.ts";
import { personHere } from "../decide.ts";
import { exits, Fault } from "../fault.ts";
import { durationOf } from "../options.ts";
import { printList } from "../print-list.ts";
import { progressing } from "../progress.ts";
import { clip, show } from "../shown.ts";
import { warnUnclean } from "../warn-unclean.ts";

interface Options {
  readonly dryRun?: boolean;
  readonly olderThan: string;
  readonly sessionsOlderThan?: string;
  readonly tag?: string;
  readonly keepTag?: string;
  readonly by?: string;
  readonly yes?: boolean;
}
interface Row {
  readonly what: Leftover["kind"] | "blobs" | "session";
  readonly id: string;
  readonly bytes: number | undefined;
}

/** What others are writing now is not named by any event yet. */
const youngestMs = 3_600_000;

export function define(command: Command, cli: Cli): void {
  command
    .summary("remove what nobody needs any more")
    .description(
      "Removes sandboxes whose process is gone, shared files and memories of directories that were not used for a while, and contents in the store that no session reaches. Finishes erasures that were interrupted. Sessions stay as they are, unless --sessions-older-than says which go: those go with the logs of their runs, except what sessions that stay were made with.",
    )
    .option("-n, --dry-run", "only show what would be removed")
    .option("--older-than <time>", "leave what is younger, like 2h or 7d; at least 1h", "1d")
    .option("--sessions-older-than <time>", "remove sessions made and last changed longer ago, like 90d; at least 1h")
    .option("--tag <tag>", "of those, only sessions with this tag")
    .option("--keep-tag <tag>", "of those, not the ones with this tag")
    .option("--by <person>", "who removes sessions, for the record; default: the user of this machine")
    .option("-y, --yes", "do not ask before sessions are removed")
    .action((options: Options) => gc(cli, options));
}

async function gc(cli: Cli, options: Options): Promise<void> {
  const { dryRun = false, olderThan, sessionsOlderThan, tag, keepTag, by = personHere(cli), yes } = options;
  const before = cli.host.now().getTime() - ageOf(olderThan, "--older-than");
  if (sessionsOlderThan !== undefined) ageOf(sessionsOlderThan, "--sessions-older-than");
  else if (tag !== undefined || keepTag !== undefined)
    throw new Fault(exits.usage, "--tag and --keep-tag choose among sessions of an age: add --sessions-older-than.");
  const { runtime, rath } = await cli.project();
  const home = runtime.sandboxes.places.home();
  const found = home === undefined ? [] : await leftovers(home, before);
  const chosen = { olderThan: olderThan as Duration, sessionsOlderThan: sessionsOlderThan as Duration | undefined, tag, keepTag, by };
  const collect = (dry: boolean): Promise<GcReport> =>
    progressing(cli, "looking through sessions", "events", ({ add }) => rath.gc({ ...chosen, dryRun: dry, onEvent: () => add() }));
  if (!dryRun && sessionsOlderThan !== undefined) {
    const { sessions } = await collect(true);
    if (sessions.length > 0) await cli.confirm(`Remove ${plural(sessions.length, "session")} for good?`, yes);
  }
  const report = await collect(dryRun);
  if (home !== undefined && !dryRun) await removeLeftovers(home, found, before);
  tell(cli, found, report);
}

function tell(cli: Cli, found: readonly Leftover[], report: GcReport): void {
  const { dryRun, sessions, held, finished, open, blobs = 0 } = report;
  const rows: Row[] = [
    ...sessions.map((id) => ({ what: "session" as const, id, bytes: undefined })),
    ...found.map(({ kind, id, bytes }) => ({ what: kind, id, bytes })),
    ...(blobs === 0 ? [] : [{ what: "blobs" as const, id: String(blobs), bytes: report.bytes }]),
  ];
  const bytes = rows.reduce((sum, row) => sum + (row.bytes ?? 0), 0);
  if (cli.settings.json === true) {
    cli.data({ dryRun, bytes, removed: rows, held, finished, open, entry: report.entry ?? null });
    return;
  }
  printList(cli, rows, {
    columns: [
      { name: "WHAT", cell: ({ what }) => what },
      { name: "ID", cell: ({ what, id }) => (what === "blobs" ? plural(Number(id), "blob") : clip(id, 36)), plain: ({ id }) => id },
      { name: "SIZE", cell: (row) => (row.bytes === undefined ? "" : size(row.bytes)), plain: (row) => row.bytes ?? "", right: true },
    ],
    data: (row) => row,
    empty: show`There is nothing to remove.`,
  });
  if (report.blobs === undefined) cli.note(show`This store cannot remove contents that nobody needs: those stayed.`);
  if (held.length > 0)
    cli.note(
      show`${plural(held.length, "session")} old enough to go ${held.length === 1 ? "stays" : "stay"}: others that stay were made with ${held.length === 1 ? "it" : "them"}`,
    );
  if (finished.length > 0)
    cli.note(show`${plural(finished.length, "erasure")} that had been interrupted ${dryRun ? "would be" : "was"} finished`);
  if (open.length > 0) warnUnclean(cli);
  if (rows.length === 0) return;
  // How much room the record of a session had is not known.
  const freed = [
    ...(sessions.length === 0 ? [] : [plural(sessions.length, "session")]),
    ...(found.length + blobs === 0 ? [] : [size(bytes)]),
  ];
  if (!dryRun) cli.note(show`${cli.errInk.green("removed")} ${freed.join(", ")}`);
  else if (sessions.length > 0) cli.note(show`${freed.join(", ")} would go; nothing was removed`);
  else cli.note(show`${size(bytes)} would be free; nothing was removed`);
  if (!dryRun && rows.some(({ what }) => what === "blobs"))
    cli.note(cli.errInk.dim("The file of the store keeps its size: what was freed in it is used again."));
}

function ageOf(text: string, option: string): number {
  const age = durationOf(text, option);
  if (age < youngestMs)
    throw new Fault(exits.usage, `${option} takes at least 1h, not ${text}: what is being written now is not named by any session yet.`);
  return age;
}
