/** A run that is there already is taken up: claimed, loaded, and gone on with after what it recorded, or ended without executing it. */

import { counted } from "../session/counted.ts";
import { RathError } from "../session/errors.ts";
import type { Node } from "../session/log.ts";
import type { RunRow, Store } from "../store/store.ts";
import type { Workflow } from "../workflow/workflow.ts";
import { closeCalls } from "./close-calls.ts";
import { Execution } from "./execution.ts";
import { type Ending, finish } from "./finish.ts";
import { type HeldLease, held } from "./lease.ts";
import { setAside } from "./move-aside.ts";
import { hasOnCancel, revisionOf } from "./queue-run.ts";
import type { RunRecord } from "./run-record.ts";
import { rowOfRun } from "./run-row.ts";
import type { Runtime } from "./runtime.ts";
import { isDeadHere } from "./worker-id.ts";

/** Takes the run's lease, at once if its owner was a process of this host that is dead. */
export async function claimRun(runtime: Runtime, store: Store, id: string, worker: string): Promise<HeldLease | undefined> {
  const { leaseMs } = runtime.times;
  const lease = await held(runtime, () => store.claim(id, worker, leaseMs));
  if (lease !== undefined) return lease;
  const owner = (await rowOfRun(store, id))?.owner;
  return owner !== undefined && isDeadHere(owner) ? held(runtime, () => store.claim(id, worker, leaseMs, { from: owner })) : undefined;
}

/** Takes the lease of a run that was only just queued, unless there is a reason by now not to execute it here: then it waits for others. */
export async function claimNew(
  runtime: Runtime,
  execution: Execution,
  worker: string,
  mayStart: () => void,
): Promise<HeldLease | undefined> {
  try {
    const store = await runtime.store();
    const lease = await held(runtime, () => store.claim(execution.id, worker, runtime.times.leaseMs));
    try {
      mayStart();
    } catch (error) {
      if (lease !== undefined) await store.release(lease);
      throw error;
    }
    return lease;
  } catch (error) {
    execution.close();
    throw error;
  }
}

/** An execution that goes on after what the run has recorded. */
export function takeUp(runtime: Runtime, record: RunRecord, lease: HeldLease, worker: string, workflow?: Workflow): Execution {
  const execution = new Execution(runtime, record.id, "run", record.log);
  execution.lease = lease;
  // What others hold of its branches is theirs; what frames before it left there is forgotten.
  for (const log of new Set(record.events.map((node) => node.log)))
    if (log.owner === undefined && !setAside(runtime.effects, log)) log.rewind();
  execution.writer.order = record.events.reduce((highest, { order }) => Math.max(highest, order), -1) + 1;
  execution.signer.restore(record.journal, record.events);
  execution.own(record.input.log);
  // What it adds to them and cannot write any more is forgotten when it closes.
  for (const { log } of record.program) if (log.owner === undefined) execution.own(log);
  execution.newest = record.program.at(-1) ?? record.input;
  const { onCancel, compensates } = record.started;
  const revision = workflow === undefined ? undefined : revisionOf(workflow);
  execution.journal("run.resumed", {
    worker,
    epoch: lease.epoch,
    ...(lease.abandoned === true ? { abandoned: true } : {}),
    ...(revision === undefined || revision === record.started.revision ? {} : { revision }),
    ...(hasOnCancel(workflow) && onCancel === undefined && compensates === undefined ? { onCancel: true } : {}),
  });
  return execution;
}

/**
 * How often in a row a run was taken up after its worker had died or was cut off, without anything being recorded meanwhile and
 * without being parked or left in order: such a run may be what kills them.
 */
export function deathsOf(runtime: Runtime, record: RunRecord): number {
  const progress = record.program.at(-1)?.order ?? -1;
  let deaths = 0;
  for (const node of record.journal) {
    const died = node.kind === "run.resumed" && node.data<"run.resumed">(runtime.platform).abandoned === true;
    if (died && node.order > progress) deaths++;
    else if (node.kind === "run.parked" || node.kind === "run.resumed") deaths = 0;
  }
  return deaths;
}

/** In leases. */
const longestRest = 12;

/**
 * True while a run that workers died of is left alone: longer each time, so that it does not end one worker after the other, and
 * that a run is not given up which was only there when machines or the database went down several times in a row.
 */
export function rests(runtime: Runtime, record: RunRecord): boolean {
  const deaths = deathsOf(runtime, record);
  const last = record.journal.findLast((node) => node.kind === "run.resumed");
  if (deaths < 2 || last === undefined) return false;
  const leases = 1 + Math.min(2 ** (deaths - 2), longestRest);
  return Date.parse(runtime.platform.time()) < Date.parse(last.at) + leases * runtime.times.leaseMs;
}

export function poisoned(run: string, deaths: number): RathError {
  return new RathError(
    "run.poisoned",
    `Run ${run} was taken up ${counted(deaths, "time")} in a row by workers that died without recording anything: it is not tried again. Fork its session and start another run once the cause is known.`,
    { details: { run, deaths } },
  );
}

export function overdue(run: string, deadline: string): RathError {
  return new RathError("run.deadline", `Run ${run} had not ended by its deadline, ${deadline}.`, { details: { run, deadline } });
}

export function busy({ id, owner = "somebody else" }: RunRow): RathError {
  return new RathError("run.busy", `Run ${id} is being executed by ${owner}: attach to it, or wait until its lease ends.`, {
    retryable: true,
    details: { run: id },
  });
}

export function unknownWorkflow(name: string): RathError {
  return new RathError(
    "run.unknown-workflow",
    `There is no workflow "${name}" here: pass it as openrath({ workflows: { ${JSON.stringify(name)}: … } }).`,
    { details: { workflow: name } },
  );
}

/** Ends a run without executing it: its open calls are closed, then it is marked. */
export async function endUnexecuted(execution: Execution, record: RunRecord, row: RunRow, ending: Ending): Promise<Node> {
  closeCalls(execution, record.program, ending.status === "cancelled" ? ending.reason : "the run failed");
  return finish(execution, ending, row);
}
