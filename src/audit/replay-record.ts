/** The runs behind a session, executed again against their record: does the program still ask for what is there? */
import { type ReplayReport, replay, replayRun, runtimeOf } from "../runtime/replay.ts";
import { loadRun } from "../runtime/run-record.ts";
import { RathError } from "../session/errors.ts";
import type { Session } from "../session/session.ts";
import { Workflow } from "../workflow/workflow.ts";
import type { Unchecked } from "./coverage.ts";
import type { Gathered } from "./gather.ts";
import type { Finding } from "./problem.ts";

/** What came of it. */
export interface Replayed {
  readonly reports: readonly ReplayReport[];
  readonly findings: readonly Finding[];
  readonly unchecked: readonly Unchecked[];
}

/** Replays with the workflow given, or every run with the workflow of its name. A record that does not hold is not executed. */
export async function replayRecord(
  session: Session,
  { replay: workflow, signal }: { readonly replay?: Workflow | true | undefined; readonly signal?: AbortSignal | undefined },
  gathered: Gathered,
  holds: boolean,
): Promise<Replayed> {
  if (workflow === undefined) return nothing([]);
  if (!holds) return nothing([{ part: "replay", count: 1, why: "the record does not hold: nothing was executed against it" }]);
  const runtime = runtimeOf(session);
  const reports: ReplayReport[] = [];
  const unchecked: Unchecked[] = [];
  if (workflow instanceof Workflow) reports.push(await replay(session, workflow, { signal }));
  else
    for (const { id, shared } of gathered.runs.values()) {
      if (shared) continue;
      const record = await loadRun(runtime, id);
      const { workflow: name } = record.started;
      const known = Object.hasOwn(runtime.workflows, name) ? runtime.workflows[name] : undefined;
      if (known instanceof Workflow) reports.push(await replayRun(runtime, record, known, signal));
      else
        unchecked.push({ part: "replay", count: 1, why: `run ${id} was made by "${name}", which openrath({ workflows }) does not name` });
    }
  if (workflow === true && reports.length === 0 && unchecked.length === 0)
    throw new RathError("run.not-recorded", `Session ${session.id} was not made by a workflow: there is nothing to execute again.`);
  return { reports, findings: reports.flatMap(findingOf), unchecked };
}

function nothing(unchecked: readonly Unchecked[]): Replayed {
  return { reports: [], findings: [], unchecked };
}

function findingOf(report: ReplayReport): readonly Finding[] {
  if (report.identical) return [];
  return [{ event: report.at.id, problem: `replayed, run ${report.run} ${String(report)}`, field: report.field, kind: "diverged" }];
}
