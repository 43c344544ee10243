/** The workflow that made a session: the one named, else the one of the name on record. */
import { basename } from "node:path";
import { runBehind } from "../runtime/run-record.ts";
import { placeOf } from "../session/value.ts";
import type { Workflow } from "../workflow/workflow.ts";
import type { Cli } from "./cli.ts";
import { exits, Fault } from "./fault.ts";
import { findWorkflow } from "./find-workflow.ts";
import { openSession } from "./sessions.ts";

export async function recordedWorkflow(cli: Cli, id: string, name: string | undefined): Promise<Workflow> {
  if (name !== undefined) return (await findWorkflow(cli, name)).workflow;
  const { runtime, workflows, config } = await cli.project();
  const session = await openSession(cli, id);
  const { started } = await runBehind(runtime, placeOf(session).node);
  const workflow = Object.hasOwn(workflows, started.workflow) ? workflows[started.workflow] : undefined;
  if (workflow !== undefined) return workflow;
  throw new Fault(
    exits.notFound,
    `Session ${session.id} was made by the workflow "${started.workflow}", ${config === undefined ? "and there is no project file (openrath.config.ts) here that could name it" : `which ${basename(config)} does not name`}.`,
    {
      next:
        config === undefined
          ? "say where it is: --workflow FILE[#export]"
          : "add it to openrath({ workflows }), or say where it is: --workflow FILE[#export]",
    },
  );
}
