/** `openrath resume RUN`: goes on with a run that was interrupted; what has a result is not done again. */
import { type Command, Option } from "commander";
import type { OnDivergence } from "../../runtime/run.ts";
import type { Run } from "../../runtime/run-handle.ts";
import { RathError } from "../../session/errors.ts";
import type { Cli } from "../cli.ts";
import { importedWorkflow } from "../find-workflow.ts";
import { followRun } from "../follow-run.ts";
import { findRun } from "../sessions.ts";
import { show } from "../shown.ts";

interface Options {
  readonly onDivergence?: OnDivergence;
  readonly workflow?: string;
}

export function define(command: Command, cli: Cli): void {
  command
    .summary("go on with an interrupted run")
    .description(
      "Executes an interrupted or parked run here. What is on record is taken from there; the rest runs. One that another process executes is followed.",
    )
    .argument("<id>", "a run, or a session whose newest run it is")
    .option("-w, --workflow <file>", "FILE[#export] of the workflow, where no project file names it")
    .addOption(
      new Option("--on-divergence <what>", "when the program does not ask for what it recorded").choices(["pause", "fork", "fail"]),
    )
    .action((id: string, options: Options) => resume(cli, id, options));
}

async function resume(cli: Cli, id: string, { onDivergence, workflow }: Options): Promise<void> {
  const { rath } = await cli.project();
  const given = workflow === undefined ? undefined : await importedWorkflow(cli, workflow);
  const { id: run, session, status } = await findRun(cli, id);
  if (["done", "failed", "cancelled"].includes(status)) cli.note(show`${cli.errInk.dim(`run ${run} had ended already`)}`);
  const { head } = await rath.open(session);
  let resumed: Run;
  try {
    resumed = await rath.resume(run, { onDivergence, workflow: given });
  } catch (error) {
    if (!RathError.is(error, "run.busy")) throw error;
    // A worker was faster: what the caller wants is to see how it goes on.
    cli.note(show`${cli.errInk.dim(`another process executes it: followed from here, and left to it at Ctrl+C`)}`);
    await followRun(cli, await rath.attach(run), { after: head, others: true });
    return;
  }
  const cancel = (): void => void resumed.cancel("interrupted").catch(() => {});
  cli.host.signal.addEventListener("abort", cancel, { once: true });
  await followRun(cli, resumed, { after: head });
}
