/** Executes a workflow again on a fork with one thing changed; every result whose inputs are equal is reused. */
import { counted } from "../session/counted.ts";
import { RathError } from "../session/errors.ts";
import type { Event } from "../session/event.ts";
import { givenOneOf, givenOptions, givenText, kindOf, unsupported } from "../session/given.ts";
import { history, type Node } from "../session/log.ts";
import type { Session, Usage } from "../session/session.ts";
import { placeOf, SessionValue } from "../session/value.ts";
import type { OutputOf, Workflow } from "../workflow/workflow.ts";
import { conclude } from "./enter.ts";
import { Execution } from "./execution.ts";
import { askedInstead, insteadOf } from "./instead.ts";
import { firstRevision } from "./memories.ts";
import { flushBehind, givenWorkflow, runtimeOf } from "./replay.ts";
import { Reuse } from "./reuse.ts";
import { type RunRecord, refuseErased, runBehind } from "./run-record.ts";
import type { Runtime } from "./runtime.ts";
import { type Captured, inside } from "./services.ts";

/** What is changed, and what may happen again. */
export interface RerunOptions {
  /** The step whose value `change` replaces; default: the run's input. */
  readonly from?: number | undefined;
  /** Another value in place of the one the program holds there, or another result for one effect (its call's or result's id). */
  readonly change?:
    | ((session: Session) => Session)
    | { readonly event: string; readonly output: unknown }
    /** From this model call on, the agent that made it asks another model, by its name, or with other instructions. */
    | { readonly event: string; readonly model?: string | undefined; readonly instructions?: string | undefined }
    | undefined;
  /** What `once` and `keyed` effects do that find no equal result: stop and ask (default), or run. */
  readonly effects?: "ask" | "live" | undefined;
  /** Which memory is recalled: what was there for the earlier run (default), or what is there now. */
  readonly memory?: "recorded" | "latest" | undefined;
}

/** The fork that was made, and how much of the record served again. */
export interface Rerun<Output> {
  readonly session: Session<Output>;
  /** Results taken from the earlier run, of how many it had. */
  readonly reused: number;
  readonly of: number;
  readonly saved: Usage;
  /** The first call that was not reused. */
  readonly split: Event | undefined;
  /** How much was reused, and where it goes its own way. */
  toString(): string;
}

/**
 * Runs the workflow again on a fork of the run's input. Reused results cost nothing and name their source.
 *
 * @example
 * const again = await rerun(session, workflow, { change: { event: weather, output: "rain" }, effects: "live" });
 * console.log(`${again.reused} of ${again.of} results reused`);
 */
export async function rerun<W extends Workflow>(session: Session, workflow: W, options: RerunOptions = {}): Promise<Rerun<OutputOf<W>>> {
  givenOptions(options, ["from", "change", "effects", "memory"], "rerun");
  return (await beginRerun(session, workflow, options)).ended;
}

/** A rerun that goes on. */
export interface BegunRerun<Output> {
  readonly run: string;
  /** The fork that the workflow was given. */
  readonly session: string;
  readonly ended: Promise<Rerun<Output>>;
  /** Resolves when the fork is stored: anybody can open it then. */
  stored(): Promise<void>;
}

/** How one begins for somebody else. */
interface Beginning extends RerunOptions {
  /** Who asks, if that is not who made the session. */
  readonly by?: string | undefined;
  /** Throws where they may not change that in this run. */
  readonly admit?: ((record: RunRecord) => Promise<void>) | undefined;
}

/** Begins one and does not wait for its end. */
export async function beginRerun<W extends Workflow>(session: Session, workflow: W, options: Beginning): Promise<BegunRerun<OutputOf<W>>> {
  const runtime = runtimeOf(session);
  givenWorkflow(workflow);
  givenChange(options.change);
  givenOneOf(options.effects, ["ask", "live"], "rerun.effects");
  givenOneOf(options.memory, ["recorded", "latest"], "rerun.memory");
  await flushBehind(session);
  const start = options.from === undefined ? placeOf(session).node : placeOf(session.at(options.from)).node;
  const record = await recordBehind(runtime, session, start, options.change);
  await options.admit?.(record);
  const reuse = await reuseOf(runtime, record, options);
  const asked = typeof options.change !== "object" || "output" in options.change ? undefined : insteadOf(runtime, record, options.change);
  // What the earlier run asked otherwise it asks otherwise again, unless something else is asked for now.
  const instead = asked ?? record.started.instead;
  const by = options.by ?? record.input.by;
  const execution = new Execution(runtime, runtime.platform.newId(), "bare");
  runtime.watch(execution);
  execution.memory = options.memory === "latest" ? "latest" : firstRevision(record.program, runtime.platform);
  const input = execution.fork(record.input, execution.scope, "rerun", by);
  reuse.standsFor(input, record.input);
  execution.reuse = reuse;
  const { workflow: name } = record.started;
  execution.begin(input, { workflow: name, bare: true, rerun: record.id, ...(instead === undefined ? {} : { instead }) });
  const context = { host: runtime, execution, scope: execution.scope, by: "", instead: askedInstead(instead, workflow) };
  const changing = typeof options.change === "function" ? options.change : undefined;
  // What is changed is changed by whoever asks; what follows is done by the workflow.
  const changed = (node: Node): Node =>
    changing === undefined ? node : placeOf(changing(new SessionValue(node, { ...context, by }))).node;
  if (changing !== undefined && options.from !== undefined) reuse.replaceAfter(start, changed);
  const within = <T>(work: () => T): T => inside.run({ execution, scope: execution.scope }, work);
  const first = async (): Promise<Node> => (options.from === undefined ? within(() => changed(input)) : input);
  // A change that throws ends the run as the workflow would.
  const given = await first().then(
    (node) => new SessionValue(node, context),
    (error: unknown) => conclude(runtime, execution, Promise.reject(error), start.by),
  );
  const forward = within(async () => workflow.forward(given));
  const ended = async (): Promise<Rerun<OutputOf<W>>> => {
    const concluded = (await conclude(runtime, execution, forward, start.by)) as Session<OutputOf<W>>;
    if (asked !== undefined && reuse.split === undefined) runtime.warn(changedNothing(execution.id, asked.by));
    return rerunOf(runtime, reuse, concluded);
  };
  const stored = async (): Promise<void> => {
    execution.writer.add(placeOf(given).node);
    await execution.writer.flush();
  };
  return { run: execution.id, session: given.id, ended: ended(), stored };
}

/** A change that is none would be a rerun in which nothing is changed, in silence. */
function givenChange(change: RerunOptions["change"]): void {
  if (change === undefined || typeof change === "function") return;
  if (typeof change !== "object" || change === null)
    throw unsupported(
      "rerun.change",
      `is ${kindOf(change)}`,
      "give { event, output }, { event, model?, instructions? }, or a function of the session",
    );
  givenOptions<object>(change, ["event", "output", "model", "instructions"] as never, "rerun.change");
  givenText(change.event, "rerun.change.event");
}

/** The last thing said replaced; where the program holds a later value, something more is said. */
export function withMessage(session: Session, text: string, replace: boolean): Session {
  const last = session.messages.findLast((message) => message.role === "user");
  const before = last === undefined ? undefined : session.at(last.event).step - 1;
  return replace && before !== undefined && before >= 1 ? session.at(before).fork("changed").say(text) : session.say(text);
}

/** The run that made what is changed; the change must be of an event of it. */
async function recordBehind(runtime: Runtime, session: Session, start: Node, change: RerunOptions["change"]): Promise<RunRecord> {
  const record = await runBehind(runtime, start);
  refuseErased(record);
  if (typeof change === "object" && !record.program.some((node) => node.id === change.event)) {
    const problem = `Event ${change.event} is not part of run ${record.id}: name a call or a result of it.`;
    throw new RathError("session.not-found", problem, { session });
  }
  return record;
}

async function reuseOf(runtime: Runtime, record: RunRecord, { effects = "ask", change, memory }: RerunOptions): Promise<Reuse> {
  const latest = memory === "latest" && record.program.some(({ kind }) => kind === "recall.returned");
  const revision = latest ? await (await runtime.memories.store()).revision() : undefined;
  const captured = await capturedBy(runtime, record);
  const output = typeof change === "object" && "output" in change ? change : undefined;
  return new Reuse(runtime, record.program, { effects, change: output, captured, latest: revision });
}

/** The files that directories held when the run first used them, by placement. */
async function capturedBy(runtime: Runtime, record: RunRecord): Promise<ReadonlyMap<string, Captured>> {
  const placements = new Map([...record.program, ...history(record.input)].map((node) => [node.id, node]));
  const captured = new Map<string, Captured>();
  for (const node of record.journal) {
    if (node.kind !== "workspace.captured") continue;
    const { placement, directory, tree, layers = [], withheld = [] } = node.data<"workspace.captured">(runtime.platform);
    const placed = placements.get(placement);
    if (placed === undefined) continue;
    const found = { directory, tree, layers, withheld, event: node.id };
    captured.set(runtime.textOf(placed), await runtime.sandboxes.ownCapture(found));
  }
  return captured;
}

function changedNothing(run: string, agent: string): string {
  return `Rerun ${run} changed nothing: no agent asked as ${agent} did, or it asks the same anyway. Agents are told apart by their names within the workflow.`;
}

function rerunOf<Output>(runtime: Runtime, { taken, of, split }: Reuse, session: Session<Output>): Rerun<Output> {
  const own = split === undefined ? "" : `; the first that was not: ${split.kind} at step ${split.step}`;
  return {
    session,
    reused: taken.length,
    of,
    saved: savedBy(taken),
    split: split?.event(runtime.platform),
    toString: () => `${taken.length} of ${counted(of, "result")} reused${own}`,
  };
}

function savedBy(taken: readonly Node[]): Usage {
  const sum = { input: 0, output: 0, cached: 0, cacheWrite: 0, reasoning: 0, usd: 0 };
  for (const { facts } of taken) for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += facts.usage?.[name] ?? 0;
  return { ...sum, own: sum };
}
