/** `openrath diff A [B]`: what a session changed, or what differs between two of them, or two places in one. */
import type { Command } from "commander";
import { bases } from "../../runtime/merge.ts";
import type { Files, Session } from "../../session/session.ts";
import { placeOf } from "../../session/value.ts";
import { shortEvent } from "../../wire/format.ts";
import type { Cli } from "../cli.ts";
import { exits, Fault } from "../fault.ts";
import { type Counted, printChanges, printPatch } from "../print-changes.ts";
import { filesAt, filesTaken, linesChanged } from "../session-files.ts";
import { openSession, shortIds } from "../sessions.ts";
import { show } from "../shown.ts";

interface Options {
  readonly files?: boolean;
  readonly patch?: boolean;
  readonly stat?: boolean;
}

export function define(command: Command, cli: Cli): void {
  command
    .summary("show what a session changed, or compare the files of two")
    .description(
      "Shows what leads from the files of one session, or of a place in it, to those of another. With one session: what it changed since its files were taken from the directory.",
    )
    .argument("<from>", "a session or a place in it: A, A@step, or two as A..B")
    .argument("[to]", "what it is compared with: B or B@step")
    .option("--files", "compare files (default)")
    .option("-p, --patch", "as a patch, which git apply takes")
    .option("--stat", "with the lines added and removed")
    .action((from: string, to: string | undefined, options: Options) => diff(cli, from, to, options));
}

async function diff(cli: Cli, from: string, to: string | undefined, options: Options): Promise<void> {
  const [a, b] = (await Promise.all(placesOf(from, to).map((place) => openSession(cli, place)))) as [Session, Session?];
  return b === undefined ? changed(cli, a, options) : compare(cli, a, b, options);
}

/** What a session changed since it took its files. */
async function changed(cli: Cli, session: Session, { patch, stat }: Options): Promise<void> {
  const changes = await counted(session, filesTaken(session), session.files, stat);
  if (cli.asJson)
    return cli.data({ from: null, to: session.toJSON(), changes, ...(patch === true ? { patch: await session.files.patch() } : {}) });
  const id = (await shortIds(cli))(session.id);
  if (patch === true && changes.length > 0) return printPatch(cli, await session.files.patch());
  printChanges(cli, changes, { stat: stat === true, empty: show`Session ${id} changed no files.` });
}

async function counted(session: Session, since: Files, now: Files, stat: boolean | undefined): Promise<readonly Counted[]> {
  const changes = await now.changes(since);
  if (stat !== true) return changes;
  return Promise.all(changes.map(async (one) => ({ ...one, lines: await linesChanged(session, since, now, one) })));
}

async function compare(cli: Cli, a: Session, b: Session, { patch, stat }: Options): Promise<void> {
  const [since, now] = [filesAt(a, b), filesAt(b, a)];
  const changes = await counted(b, since, now, stat);
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

/** `A`, `A B` or `A..B`. */
function placesOf(from: string, to: string | undefined): readonly string[] {
  const [a = "", b, ...more] = from.split("..");
  if (to === undefined && b === undefined) return [from];
  if (to === undefined && a !== "" && b !== undefined && b !== "" && more.length === 0) return [a, b];
  if (to === undefined || b !== undefined || to.includes(".."))
    throw new Fault(exits.usage, "diff shows one session or compares two: write openrath diff A, A B, or A..B.");
  return [from, to];
}
