/** A run is queued durably before anybody executes it: what it was asked for is checked and recorded here. */

import { durationMs } from "../session/duration.ts";
import { RathError } from "../session/errors.ts";
import { givenAbort, givenKey, givenLimits, givenOptions, givenTime, kindOf, shown, unsupported } from "../session/given.ts";
import { keyedRunId, type Scope } from "../session/id.ts";
import { current, type Node } from "../session/log.ts";
import { accepting } from "../session/question.ts";
import type { Duration, Limits, Schema, Session } from "../session/session.ts";
import { standardOf } from "../session/standard-schema.ts";
import { placeOf } from "../session/value.ts";
import { whatOf } from "../session/what.ts";
import type { RunRow } from "../store/store.ts";
import type { Workflow } from "../workflow/workflow.ts";
import { Execution } from "./execution.ts";
import type { RunRecord } from "./run-record.ts";
import { rowOfRun } from "./run-row.ts";
import type { Runtime } from "./runtime.ts";
import { inside } from "./services.ts";

/** How a durable run is started. */
export interface RunOptions {
  /** The same key and input give the same run, in this process or another. */
  readonly key?: string | undefined;
  /** Of several that wait for a worker the highest goes first; 0 when left out. */
  readonly priority?: number | undefined;
  /** It fails with `run.deadline` if it has not ended by then, also while it waits. */
  readonly deadline?: Duration | Date | undefined;
  /** Over the run and everything under it. A run that it starts itself has limits of its own. */
  readonly limits?: Limits | undefined;
  /** Aborting it cancels the run, durably. */
  readonly signal?: AbortSignal | undefined;
  /** Only queues it, for whoever works on this store (`rath.work`, `openrath worker`). Without it this Rath executes it. */
  readonly queue?: boolean | undefined;
}

/** Options that can be held; what is checked here is checked before anything is queued. */
export function givenRunOptions(options: RunOptions): RunOptions {
  const { queue, signal } = givenOptions(options, ["key", "priority", "deadline", "limits", "signal", "queue"], "run");
  if (queue !== undefined && typeof queue !== "boolean") throw unsupported("run.queue", `is ${shown(queue)}`, "give true or false");
  givenAbort(signal);
  return options;
}

/** What a run is started as, beside its options. */
export interface Starting {
  readonly name: string;
  /** Undefined where only its name is known: whoever executes it knows more. */
  readonly workflow: Workflow | undefined;
  /** The cancelled run that it makes good. */
  readonly compensates?: string | undefined;
}

export interface Queued {
  readonly execution: Execution;
  readonly input: Node;
  readonly row: RunRow;
}

/** Queues a new run; undefined when one with its key is there already. */
export async function queueRun(runtime: Runtime, starting: Starting, session: Session, options: RunOptions): Promise<Queued | undefined> {
  const { platform } = runtime;
  runtime.here(session);
  const { key } = options;
  const { parent, call } = runAround();
  const started = startedAs(runtime, starting, options, parent);
  const id =
    starting.compensates === undefined
      ? key === undefined
        ? platform.newId()
        : keyedRunId(platform, key)
      : compensationOf(runtime, starting.compensates);
  const known = key !== undefined || starting.compensates !== undefined;
  if (known && (await rowOfRun(await runtime.store(), id)) !== undefined) return undefined;
  // Where it is now: its session may have been continued elsewhere meanwhile.
  const { node: head } = runtime.here(session);
  const execution = new Execution(runtime, id, "run");
  const free = head.log.tip === head && head.log.owner === undefined && head.log.open === 0;
  const input = free ? head : execution.fork(head, execution.scope, `run ${id.slice(0, 8)}`, head.by);
  execution.own(input.log);
  execution.record(input);
  execution.begin(input, started);
  const row: RunRow = {
    id,
    key: key === undefined ? undefined : runtime.clean(key),
    session: input.log.id,
    workflow: starting.name,
    status: "queued",
    wakeAt: platform.time(),
    ...(options.priority === undefined ? {} : { priority: options.priority }),
  };
  execution.writer.setRow(row);
  parent?.journal("run.spawned", { run: id, workflow: starting.name, ...(call === undefined ? {} : { call }) });
  try {
    // Whoever cancels the run around it must find it, whenever somebody dies: it is on record there before it is anywhere else.
    await parent?.writer.flush();
    await execution.writer.flush();
  } catch (error) {
    execution.close();
    if (known && RathError.is(error, "store.conflict")) return undefined;
    throw error;
  }
  return { execution, input: current(input), row: { ...row, session: current(input).log.id } };
}

/** The durable run inside one of whose effects this is called, and that effect. */
function runAround(): { readonly parent?: Execution; readonly call?: string } {
  const { execution, scope } = (inside.getStore() ?? {}) as { readonly execution?: Execution; readonly scope?: Scope };
  if (execution?.mode !== "run" || execution.closed) return {};
  const now = scope && execution.scopeNow(scope);
  return { parent: execution, ...(now !== undefined && "call" in now ? { call: now.call } : {}) };
}

const revisions = new WeakMap<Workflow, string>();

/** Of its description, which is made once. */
export function revisionOf(workflow: Workflow): string {
  const known = revisions.get(workflow) ?? workflow.describe().revision;
  revisions.set(workflow, known);
  return known;
}

/** The id of the run that makes a cancelled one good: there is one, however often somebody tries. No caller is given such a key (`givenKey`). */
export function compensationOf(runtime: Runtime, run: string): string {
  return keyedRunId(runtime.platform, `cancelled ${run}`);
}

type Began = Parameters<Execution["begin"]>[1];

function startedAs(runtime: Runtime, { name, workflow, compensates }: Starting, options: RunOptions, parent: Execution | undefined): Began {
  const { key, priority, deadline, limits } = options;
  if (priority !== undefined && !Number.isFinite(priority)) throw unsupported("priority", `is ${kindOf(priority)}`, "give a finite number");
  return {
    workflow: name,
    ...(key === undefined ? {} : { key: givenKey(key) }),
    ...(priority === undefined ? {} : { priority }),
    ...(deadline === undefined ? {} : { deadline: timeOf(runtime, deadline) }),
    ...(limits === undefined ? {} : { limits: defined(givenLimits(limits)) }),
    ...(workflow === undefined ? {} : { revision: revisionOf(workflow) }),
    ...(hasOnCancel(workflow) && compensates === undefined ? { onCancel: true as const } : {}),
    ...(compensates === undefined ? {} : { compensates }),
    ...(parent === undefined ? {} : { parent: parent.id }),
    ...traced(runtime),
  };
}

function traced({ telemetry }: Runtime): { readonly trace?: string } {
  const trace = telemetry?.trace();
  return trace === undefined ? {} : { trace };
}

export function hasOnCancel(workflow: Workflow | undefined): boolean {
  return typeof (workflow as { readonly onCancel?: unknown } | undefined)?.onCancel === "function";
}

function timeOf(runtime: Runtime, deadline: Duration | Date): string {
  const time = givenTime(deadline);
  return "until" in time ? time.until : new Date(Date.parse(runtime.platform.time()) + durationMs(time.for)).toISOString();
}

function defined(limits: Limits): Limits {
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined));
}

/**
 * A workflow that has an `input` schema is started only with an input that fits: the newest thing said to it by a user, as
 * JSON where it is JSON, else as the text it is.
 */
export async function checkInput(workflow: Workflow, name: string, session: Session): Promise<void> {
  const schema = (workflow as { readonly input?: unknown }).input as Schema | undefined;
  if (schema === undefined || schema === null || standardOf(schema) === undefined) return;
  const said = session.messages.findLast(({ role }) => role === "user")?.text;
  const problems: string[] = [];
  for (const value of readings(said)) {
    try {
      await accepting(schema)(value);
      return;
    } catch (error) {
      problems.push((error as Error).message.replace("The answer does not fit the question: ", ""));
    }
  }
  throw new RathError("run.invalid-input", `The input of "${name}" does not fit its schema: ${problems[0]} Nothing was started.`, {
    session,
    details: { workflow: name, problems },
  });
}

function readings(said: string | undefined): readonly unknown[] {
  if (said === undefined) return [undefined];
  try {
    return [JSON.parse(said), said];
  } catch {
    return [said];
  }
}

/** The place that a run was given: where others were writing, it began on a fork of it. */
export function givenTo({ id, input }: Pick<RunRecord, "id" | "input">): Node {
  return input.kind === "session.forked" && input.log.fork?.label === `run ${id.slice(0, 8)}` ? (input.parent as Node) : input;
}

/** Refuses a key that was used for another workflow or another input. */
export async function sameRun(runtime: Runtime, record: RunRecord, name: string, session: Session, key: string): Promise<void> {
  const { node } = placeOf(session);
  const what = (place: Node): string => whatOf(place, runtime.platform, (at) => runtime.textOf(at), new Map());
  const original = givenTo(record);
  const sameInput = node.stored ? original.id === node.id || record.input.id === node.id : what(original) === what(node);
  if (record.started.workflow === name && sameInput) return;
  throw new RathError(
    "run.key-reused",
    `Key "${key}" belongs to run ${record.id} of "${record.started.workflow}"${sameInput ? "" : " with another input"}: use another key.`,
    { details: { run: record.id, key } },
  );
}
