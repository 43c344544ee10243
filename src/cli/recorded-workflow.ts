/** The workflow that made a session: the one named, else the one of the name on record. */
import { runBehind } from "../runtime/run-record.ts";
import { placeOf } from "../session/value.ts";
import type { Workflow } from "../workflow/workflow.ts";
import type { Cli } from "./cli.ts";
import { exits, Fault } from "./fault.ts";
import { findWorkflow } from "./find-workflow.ts";
import { openSession } from "./sessions.ts";

export async function recordedWorkflow(cli: Cli, id: string, name: string | undefined): Promise<Workflow> {
  if (name !== undefined) return (await findWorkflow(cli, name)).workflow;
  const { runtime, workflows } = await cli.project();
  const session = await openSession(cli, id);
  const { started } = await runBehind(runtime, placeOf(session).node);
  const workflow = Object.hasOwn(workflows, started.workflow) ? workflows[started.workflow] : undefined;
  if (workflow !== undefined) return workflow;
  throw new Fault(
    exits.notFound,
    `Session ${session.id} was made by the workflow "${started.workflow}", which openrath.config.ts does not name.`,
    { next: `add it to openrath({ workflows }), or say where it is: --workflow FILE` },
  );
}
