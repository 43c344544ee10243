/** Executes a workflow against its record and compares: it never calls the world, writes nothing, and reports the first difference. */
import { counted } from "../session/counted.ts";
import { RathError } from "../session/errors.ts";
import { type Event, isCalled } from "../session/event.ts";
import { shown, unsupported } from "../session/given.ts";
import type { Node } from "../session/log.ts";
import type { Session } from "../session/session.ts";
import { textOfThrown } from "../session/thrown.ts";
import { placeOf, SessionValue } from "../session/value.ts";
import type { Workflow } from "../workflow/workflow.ts";
import { type Divergence, describe, divergenceOf } from "./divergence.ts";
import { Execution } from "./execution.ts";
import { askedInstead } from "./instead.ts";
import { leaveAgain } from "./leave-behind.ts";
import { type RunRecord, refuseErased, runBehind } from "./run-record.ts";
import { Runtime } from "./runtime.ts";
import { inside } from "./services.ts";

/** What became of one recorded event when its run was executed again. */
export interface ReplayStep {
  readonly event: string;
  readonly session: string;
  readonly step: number;
  readonly kind: Event["kind"];
  /**
   * `same`: it was asked for again and is equal. `nested`: it lies inside an effect that has a result, which was taken from the
   * record. `erased`: its data is gone, so that nothing can be compared. `differs`: the program did something else here.
   * `not-reached`: the program never came there.
   */
  readonly result: "same" | "nested" | "erased" | "differs" | "not-reached";
}

/** What a replay found: identical, or the first difference. */
export type ReplayReport = {
  readonly run: string;
  readonly workflow: string;
  readonly events: number;
  /** What became of each recorded event, in the order of the run. */
  readonly steps: readonly ReplayStep[];
  /** Who acts under another name than recorded: worth knowing, no divergence. */
  readonly renamed: readonly { readonly from: string; readonly to: string }[];
  toString(): string;
} & (
  | { readonly identical: true }
  | { readonly identical: false; readonly at: Event; readonly field: string; readonly expected: unknown; readonly got: unknown }
);

/**
 * Replays the newest run on the session's line, or the one that wrote step `from`. Compares every request with what was
 * recorded; costs no tokens and touches nothing.
 *
 * @example
 * const report = await replay(session, new Fix());
 * if (!report.identical) console.log(String(report)); // at step 7 (do.called) "input.city" was "Lisbon", now "Porto"
 */
export async function replay(
  session: Session,
  workflow: Workflow,
  options: { readonly from?: number | undefined; readonly signal?: AbortSignal | undefined } = {},
): Promise<ReplayReport> {
  const runtime = runtimeOf(session);
  givenWorkflow(workflow);
  const { node } = placeOf(options.from === undefined ? session : session.at(options.from));
  await flushBehind(session);
  const record = await runBehind(runtime, node);
  refuseErased(record);
  return replayRun(runtime, record, workflow, options.signal);
}

/** What is executed again must be there: runs are started by name, but a replay compares the code it is given. */
export function givenWorkflow(workflow: Workflow): void {
  if (typeof (workflow as Partial<Workflow> | null | undefined)?.forward !== "function")
    throw unsupported(
      "workflow",
      `is ${shown(workflow)}`,
      "give the workflow itself: an Agent, or an instance of a class that extends Workflow",
    );
}

/** Executes one run against its record. */
export async function replayRun(runtime: Runtime, record: RunRecord, workflow: Workflow, signal?: AbortSignal): Promise<ReplayReport> {
  const execution = new Execution(runtime, record.id, "replay");
  const divergence = await unlessAborted(signal, () => execute(runtime, execution, record, workflow)).finally(() => execution.close());
  const steps = stepsOf(execution, record, divergence);
  const found = { run: record.id, workflow: record.started.workflow, events: steps.length, steps };
  const renamed = [...execution.renames].map(([from, to]) => ({ from, to }));
  const names = renamed.map(({ from, to }) => `; "${from}" is now "${to}"`).join("");
  if (divergence === undefined)
    return {
      identical: true,
      ...found,
      renamed,
      toString: () => `identical: ${counted(steps.length, "event")} compared, nothing called${names}`,
    };
  const { at, field, expected, got, text } = divergence;
  return { identical: false, ...found, renamed, at, field, expected, got, toString: () => `diverged ${text}${names}` };
}

/** What the work gives, unless it is aborted first: a program that waits for something of its own cannot be ended, only left. */
async function unlessAborted<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
  if (signal === undefined) return work();
  signal.throwIfAborted();
  let left = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    left = () => reject(signal.reason);
    signal.addEventListener("abort", left);
  });
  try {
    return await Promise.race([work(), aborted]);
  } finally {
    signal.removeEventListener("abort", left);
  }
}

function stepsOf({ recorded, left }: Execution, { program }: RunRecord, divergence: Divergence | undefined): readonly ReplayStep[] {
  const behind = new Set(left);
  const asked = behind.size === 0 ? program : program.filter((node) => !behind.has(node));
  return asked.map((node): ReplayStep => {
    const state = recorded?.stateOf(node) ?? "unclaimed";
    const kept = node.erased ? "erased" : state === "inside" ? "nested" : "same";
    const result = divergence?.at.id === node.id ? "differs" : state === "unclaimed" ? "not-reached" : kept;
    return { event: node.id, session: node.log.id, step: node.step, kind: node.kind, result };
  });
}

async function execute(runtime: Runtime, execution: Execution, record: RunRecord, workflow: Workflow): Promise<Divergence | undefined> {
  const still = new Promise<"still">((resolve) => {
    execution.onStill = () => resolve("still");
  });
  execution.drive(record.program);
  leaveAgain(execution, record);
  execution.stillness.watch();
  const complete = new Promise<void>((resolve) => {
    const progress = execution.recorded?.onProgress ?? (() => {});
    const check = (): void => {
      progress();
      if (execution.recorded?.complete) resolve();
    };
    if (execution.recorded !== undefined) execution.recorded.onProgress = check;
    check();
  });
  const instead = askedInstead(record.started.instead, workflow);
  const session = new SessionValue(record.input, { host: runtime, execution, scope: execution.scope, by: "", instead });
  const forward = inside
    .run({ execution, scope: execution.scope }, () => workflow.forward(session))
    .then(
      (result) => ({ result: placeOf(result).node }),
      (error: unknown) => ({ error }),
    );
  const ended = await Promise.race([forward, still]);
  if (ended === "still") return stillWaiting(runtime, execution, record);
  if ("result" in ended) execution.recorded?.adoption(ended.result);
  execution.stillness.watch();
  const all = await Promise.race([complete, still]);
  if (all === "still") return "error" in ended ? thrown(runtime, execution, ended.error) : divergenceOf(runtime.platform, execution);
  return compareEnds(runtime, record, ended);
}

/** Nothing moves: the program asks for something else, or waits as it waited when the run was parked, cancelled or killed. */
function stillWaiting(runtime: Runtime, execution: Execution, record: RunRecord): Divergence | undefined {
  const was = record.ended?.status;
  const ended = was === "done" || was === "failed";
  // What causes no effect is written with what follows it: where nothing came after it any more, it is not on record.
  const more = execution.strays.some(({ kind }) => ended || isCalled(kind));
  if (execution.recorded?.complete !== true || more) return divergenceOf(runtime.platform, execution);
  if (!ended) return undefined;
  return describe((record.program.at(-1) ?? record.input).event(runtime.platform), "status", was, "waiting");
}

/** The program threw before it had asked for everything. */
function thrown(runtime: Runtime, execution: Execution, error: unknown): Divergence {
  const { at, field, expected } = divergenceOf(runtime.platform, execution);
  return describe(at, field, expected, `threw: ${textOfThrown(error)}`);
}

type End = { readonly result: Node } | { readonly error: unknown };

function compareEnds(runtime: Runtime, record: RunRecord, end: End): Divergence | undefined {
  const last = record.program.at(-1) ?? record.input;
  const at = last.event(runtime.platform);
  const was = record.ended;
  if (was === undefined) return undefined;
  const status = "result" in end ? "done" : "failed";
  if (was.status !== status) return describe(at, "status", was.status, status);
  if ("error" in end) {
    const message = textOfThrown(end.error);
    return message === was.message ? undefined : describe(at, "message", was.message, message);
  }
  const adopted = record.program.some((node) => node.id === was.result?.head && (node === end.result || node.parent === end.result));
  return adopted ? undefined : describe(at, "result", was.result?.head, end.result.id);
}

/** The runtime a value belongs to. */
export function runtimeOf(session: Session): Runtime {
  const { host } = placeOf(session).context;
  if (!(host instanceof Runtime))
    throw new RathError(
      "session.not-here",
      'This session comes from another copy of openrath: "npm ls openrath" shows who brings one along; keep one.',
    );
  return host;
}

/** What was recorded and is not on disk yet is written before anybody reads it back. */
export async function flushBehind(session: Session): Promise<void> {
  const { context } = placeOf(session);
  const execution = context.execution as Execution;
  if (!execution.closed) await execution.writer.flush();
}
