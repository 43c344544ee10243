/** `openrath diff A B`: what differs between two sessions, or two places in one. */
import type { Command } from "commander";
import { bases } from "../../runtime/merge.ts";
import type { Session } from "../../session/session.ts";
import { placeOf } from "../../session/value.ts";
import type { Cli } from "../cli.ts";
import { exits, Fault } from "../fault.ts";
import { shortEvent } from "../format.ts";
import { type Counted, printChanges, printPatch } from "../print-changes.ts";
import { filesAt, linesChanged } from "../session-files.ts";
import { openSession, shortIds } from "../sessions.ts";
import { show } from "../shown.ts";

interface Options {
  readonly files?: boolean;
  readonly patch?: boolean;
  readonly stat?: boolean;
}

export function define(command: Command, cli: Cli): void {
  command
    .summary("compare the files of two sessions")
    .description("Shows what leads from the files of one session, or of a place in it, to those of another.")
    .argument("<from>", "a session or a place in it: A, A@step, or both as A..B")
    .argument("[to]", "what it is compared with: B or B@step")
    .option("--files", "compare files (default)")
    .option("-p, --patch", "as a patch, which git apply takes")
    .option("--stat", "with the lines added and removed")
    .action((from: string, to: string | undefined, options: Options) => diff(cli, from, to, options));
}

async function diff(cli: Cli, from: string, to: string | undefined, { patch, stat }: Options): Promise<void> {
  const [a, b] = (await Promise.all(placesOf(from, to).map((place) => openSession(cli, place)))) as [Session, Session];
  const [since, now] = [filesAt(a, b), filesAt(b, a)];
  const listed = await now.changes(since);
  const changes: readonly Counted[] =
    stat === true ? await Promise.all(listed.map(async (one) => ({ ...one, lines: await linesChanged(b, since, now, one) }))) : listed;
  const common = bases(placeOf(a).node, placeOf(b).node);
  if (cli.asJson) {
    const ancestors = common.map(({ id, log, step }) => ({ event: id, session: log.id, step }));
    return cli.data({ from: a.toJSON(), to: b.toJSON(), ancestors, changes, ...(patch === true ? { patch: await now.patch(since) } : {}) });
  }
  const short = await shortIds(cli);
  cli.note(
    common.length === 0
      ? show`${cli.errInk.dim("common ancestor:")} none`
      : show`${cli.errInk.dim("common ancestor:")} ${common.map(({ id, log, step }) => `${short(log.id)}@${step} (${shortEvent(id)})`).join(", ")}`,
  );
  if (patch === true && changes.length > 0) return printPatch(cli, await now.patch(since));
  printChanges(cli, changes, { stat: stat === true, empty: show`The files are the same.` });
}

/** `A B` or `A..B`. */
function placesOf(from: string, to: string | undefined): readonly [string, string] {
  const [a = "", b, ...more] = from.split("..");
  if (to === undefined && a !== "" && b !== undefined && b !== "" && more.length === 0) return [a, b];
  if (to === undefined || b !== undefined || to.includes(".."))
    throw new Fault(exits.usage, "diff compares two: write openrath diff A B, or A..B.");
  return [from, to];
}
