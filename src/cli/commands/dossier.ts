/** `openrath dossier ID [DIR]`: one folder that answers for a session. */
import { resolve } from "node:path";
import type { Command } from "commander";
import { dossier, whatIsAt } from "../../audit/dossier/dossier.ts";
import { plural } from "../../wire/format.ts";
import type { Workflow } from "../../workflow/workflow.ts";
import type { Cli } from "../cli.ts";
import { exits, Fault } from "../fault.ts";
import { findWorkflow } from "../find-workflow.ts";
import { collected } from "../options.ts";
import { progressing } from "../progress.ts";
import { openSession, shortIds } from "../sessions.ts";
import { show } from "../shown.ts";

interface Options {
  readonly workflow?: string;
  readonly key?: readonly string[];
  readonly yes?: boolean;
}

export function define(command: Command, cli: Cli): void {
  command
    .summary("write a folder that answers for a session")
    .description(
      "Writes one folder: a page for people (index.html, complete in itself), the session as a bundle, its patch, tool calls, branches and picture, what was verified and replayed, and a manifest with the hash of every file. Exit 4 when the record is not what was written, or its workflow does something else now; 1 when nothing is wrong but signatures are of keys that are not known here.",
    )
    .argument("<id>", "a session, or a place in it: ID@step")
    .argument("[dir]", "where to; default: dossier-ID here")
    .option("-w, --workflow <name>", "replayed to see whether it still does the same: a name of the project file, or FILE[#export]")
    .option("--key <key>", "a key of another home whose signatures count; may be given again", collected)
    .option("-y, --yes", "replace a dossier that is there")
    .action((id: string, directory: string | undefined, options: Options) => writeDossier(cli, id, directory, options));
}

async function writeDossier(
  cli: Cli,
  id: string,
  directory: string | undefined,
  { workflow: name, key: keys, yes }: Options,
): Promise<void> {
  const session = await openSession(cli, id);
  const short = await shortIds(cli);
  const target = resolve(cli.host.cwd, directory ?? `dossier-${short(session.id)}`);
  const there = await whatIsAt(target);
  if (there === "other")
    throw new Fault(exits.usage, `${target} is there and is no dossier: nothing was written.`, {
      next: `openrath dossier ${id} ${target}/dossier`,
    });
  if (there === "dossier") await cli.confirm(`${target} holds a dossier. Replace it?`, yes);
  const workflow: Workflow | undefined = name === undefined ? undefined : (await findWorkflow(cli, name)).workflow;
  const report = await progressing(cli, "writing the dossier", "files", () => dossier(session, target, { workflow, keys }));
  const { page, files, verified, problems, unknownKeys, replayed, redacted } = report;
  if (problems > 0 || replayed === false) cli.exit = exits.differs;
  else if (!verified) cli.exit = exits.error;
  if (cli.asJson) return cli.data({ session: session.toJSON(), ...report });
  cli.print(show`${page}`);
  const record = verified
    ? cli.errInk.green("the record is intact")
    : problems > 0
      ? cli.errInk.red("the record is in doubt")
      : cli.errInk.yellow(`nothing is wrong with the record, but ${plural(unknownKeys.length, "key")} not known here signed it`);
  const program =
    replayed === undefined
      ? "it was not replayed"
      : replayed
        ? cli.errInk.green("the replay is identical")
        : cli.errInk.red("the replay differs");
  cli.note(show`${plural(files.length, "file")}; ${record}; ${program}`);
  if (redacted > 0) cli.warn(show`${plural(redacted, "secret")} had to be replaced: the record itself, in session/, may hold them.`);
  if (problems > 0) cli.next(`openrath verify ${short(session.id)}`);
  else if (!verified)
    cli.next(`openrath dossier ${id} --key ${unknownKeys[0] ?? ""}, if openrath doctor shows this key where it was signed`);
  if (replayed === false) cli.next(`openrath replay ${short(session.id)}${name === undefined ? "" : ` --workflow ${name}`}`);
  cli.next(`open it in a browser: file://${encodeURI(page)}`);
}
