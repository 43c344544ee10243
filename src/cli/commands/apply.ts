/** `openrath apply ID [DIR]`: writes to a directory what a session changed. */
import { stat } from "node:fs/promises";
import { isAbsolute, relative, resolve, sep } from "node:path";
import type { Command } from "commander";
import { RathError } from "../../session/errors.ts";
import type { Applied, Session } from "../../session/session.ts";
import { plural } from "../../wire/format.ts";
import type { Cli } from "../cli.ts";
import { exits, Fault } from "../fault.ts";
import { collected } from "../options.ts";
import { printChanges, printPatch } from "../print-changes.ts";
import { patchTaken } from "../session-files.ts";
import { openSession, shortIds } from "../sessions.ts";
import { shellWord } from "../shell-word.ts";
import { show } from "../shown.ts";

interface Options {
  readonly dryRun?: boolean;
  readonly paths?: readonly string[];
  readonly patch?: boolean;
  readonly yes?: boolean;
}

export function define(command: Command, cli: Cli): void {
  command
    .summary("write a session's files to a directory")
    .description(
      "Writes to a directory what a session changed since it took its files from there. Shows it first and asks. Nothing is written when somebody changed the same files meanwhile (exit 4). What is in a .git stays in the session.",
    )
    .argument("<id>", "a session, or a place in it: ID@step")
    .argument("[directory]", "where to; default: the directory that the session was placed on")
    .option("-n, --dry-run", "only show what would be written")
    .option("--paths <paths>", "only these files, or what is under these directories: a,b; may be given again", collected)
    .option("-p, --patch", "show the changes as a patch")
    .option("-y, --yes", "write without asking")
    .action((id: string, directory: string | undefined, options: Options) => apply(cli, id, directory, options));
}

async function apply(cli: Cli, id: string, given: string | undefined, options: Options): Promise<void> {
  const session = await openSession(cli, id);
  const directory = await directoryFor(cli, session, given);
  if (given === undefined && options.yes === true && options.dryRun !== true) refuseElsewhere(cli, session, directory);
  const paths = chosen(options.paths);
  const changes = await checked(cli, session, directory, paths);
  if (cli.onTerminal) await preview(cli, session, directory, changes, options);
  if (options.dryRun !== true && changes.length > 0) {
    await cli.confirm(`Write ${plural(changes.length, "change")} to ${directory}?`, options.yes);
    await session.apply(directory, { paths });
  }
  if (!cli.onTerminal) await preview(cli, session, directory, changes, options);
  if (changes.length === 0) return;
  if (options.dryRun === true) cli.note(show`${plural(changes.length, "change")} for ${directory}; nothing was written`);
  else cli.note(show`${cli.errInk.green("wrote")} ${plural(changes.length, "change")} to ${directory}`);
}

/** What would be written; rejects when somebody changed the same files. */
async function checked(cli: Cli, session: Session, directory: string, paths: readonly string[] | undefined): Promise<Applied> {
  try {
    return await session.apply(directory, { dryRun: true, paths });
  } catch (error) {
    if (!RathError.is(error) || error.code !== "workspace.changed" || cli.asJson) throw error;
    const conflicts = (error.details["paths"] ?? []) as readonly string[];
    for (const path of conflicts) cli.warn(show`${cli.errInk.red("changed here too:")} ${path}`);
    const short = (await shortIds(cli))(session.id);
    throw new Fault(
      exits.differs,
      `${plural(conflicts.length, "file")} changed in ${directory} and in session ${short}. Nothing was written.`,
      { next: `openrath apply ${short} ${directory} --paths …, without them; or undo what changed there`, cause: error },
    );
  }
}

async function preview(cli: Cli, session: Session, directory: string, changes: Applied, { patch, dryRun }: Options): Promise<void> {
  if (cli.asJson) {
    const text = patch === true ? { patch: await patchTaken(session, changes) } : {};
    const written = dryRun !== true && changes.length > 0;
    return cli.data({ session: session.toJSON(), directory, written, changes, leftOut: changes.leftOut, ...text });
  }
  if (changes.leftOut.length > 0) cli.note(show`.git stays in the session: ${plural(changes.leftOut.length, "change")} left out`);
  if (patch === true && changes.length > 0) return printPatch(cli, await patchTaken(session, changes));
  const id = (await shortIds(cli))(session.id);
  const unchanged = (await session.files.changes()).length === 0;
  const all = changes.leftOut.length === 0 ? "all that" : "all else that";
  printChanges(cli, changes, {
    empty: unchanged ? show`Session ${id} changed no files.` : show`Nothing to write: ${directory} has ${all} session ${id} changed.`,
  });
}

/** The directory that was named, or the one the session was placed on. */
async function directoryFor(cli: Cli, session: Session, given: string | undefined): Promise<string> {
  const recorded = session.placement?.workspace;
  if (given === undefined && recorded === undefined)
    throw new Fault(exits.usage, `Session ${session.id} was not placed on a directory: say where its files are to be written.`, {
      next: `openrath apply ${session.id} DIR`,
    });
  const directory = given === undefined ? resolve(recorded as string) : resolve(cli.host.cwd, given);
  const found = await stat(directory).catch(() => undefined);
  if (found?.isDirectory() === true) return directory;
  const problem = found === undefined ? "is not there" : "is no directory";
  throw new Fault(
    exits.notFound,
    given === undefined ? `${directory}, which the session was placed on, ${problem}.` : `${directory} ${problem}.`,
    { next: given === undefined ? `openrath apply ${session.id} DIR` : undefined },
  );
}

/** A session may come from somebody else, and name any directory: where nobody is asked, one outside the folder of the call is named. */
function refuseElsewhere(cli: Cli, session: Session, directory: string): void {
  const way = relative(cli.host.cwd, directory);
  if (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way)) return;
  throw new Fault(exits.usage, `The session was placed on ${directory}, outside the folder you are in: with --yes, name it.`, {
    next: `openrath apply ${session.id} ${shellWord(directory)} --yes`,
  });
}

/** Several may be given at once. */
function chosen(given: readonly string[] | undefined): readonly string[] | undefined {
  return given?.flatMap((text) => text.split(",")).map((path) => path.trim());
}
