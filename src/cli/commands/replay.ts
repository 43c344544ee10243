/** `openrath replay ID`: does the program still do what it recorded? Nothing is called. */
import type { Command } from "commander";
import { shortEvent } from "../../wire/format.ts";
import type { Cli } from "../cli.ts";
import { exits } from "../fault.ts";
import { wholeOf } from "../options.ts";
import { printFields } from "../print-list.ts";
import { progressing } from "../progress.ts";
import { recordedWorkflow } from "../recorded-workflow.ts";
import { openSession, shortIds } from "../sessions.ts";
import { json, show } from "../shown.ts";

interface Options {
  readonly workflow?: string;
  readonly from?: number;
}

export function define(command: Command, cli: Cli): void {
  command
    .summary("execute again against the record; calls nothing")
    .description(
      "Executes the workflow that made a session again and compares what it asks for with the record. Calls nothing and costs nothing. Exit 4 when it differs.",
    )
    .argument("<id>", "a session")
    .option("-w, --workflow <name>", "a name of the project file, or FILE[#export]; default: the recorded name")
    .option("--from <step>", "the run that wrote this step; default: the newest", wholeOf("--from"))
    .action((id: string, options: Options) => replaySession(cli, id, options));
}

async function replaySession(cli: Cli, id: string, { workflow: name, from }: Options): Promise<void> {
  const workflow = await recordedWorkflow(cli, id, name);
  const session = await openSession(cli, id);
  const { replay } = await import("../../runtime/replay.ts");
  const report = await progressing(cli, "replaying", "events", () => replay(session, workflow, { from }));
  if (!report.identical) cli.exit = exits.differs;
  if (cli.asJson) return cli.data(report);
  if (report.identical) {
    cli.print(show`${cli.ink.green(String(report))}`);
    return;
  }
  printFields(cli, [
    ["diverged", `at step ${report.at.step}, ${report.at.kind}, in "${report.field}"`],
    ["event", cli.onTerminal ? shortEvent(report.at.id) : report.at.id],
    ["recorded", report.expected === undefined ? "nothing" : json(report.expected)],
    ["now", report.got === undefined ? "nothing" : json(report.got)],
  ]);
  const short = (await shortIds(cli))(session.id);
  cli.next(`openrath show ${short}@${report.at.step}`, `openrath rerun ${short}, to take the new way on a fork`);
}
