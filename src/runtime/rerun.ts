/** Executes a workflow again on a fork with one thing changed; every result whose inputs are equal is reused. */
import { RathError } from "../session/errors.ts";
import type { Event } from "../session/event.ts";
import { givenOneOf, givenOptions } from "../session/given.ts";
import { history, type Node } from "../session/log.ts";
import type { Session, Usage } from "../session/session.ts";
import { placeOf, SessionValue } from "../session/value.ts";
import type { OutputOf, Workflow } from "../workflow/workflow.ts";
import { conclude } from "./enter.ts";
import { Execution } from "./execution.ts";
import { firstRevision } from "./memories.ts";
import { flushBehind, runtimeOf } from "./replay.ts";
import { Reuse } from "./reuse.ts";
import { type RunRecord, refuseErased, runBehind } from "./run-record.ts";
import type { Runtime } from "./runtime.ts";
import { type Captured, inside } from "./services.ts";

/** What is changed, and what may happen again. */
export interface RerunOptions {
  /** The step whose value `change` replaces; default: the run's input. */
  readonly from?: number | undefined;
  /** Another value in place of the one the program holds there, or another result for one effect (its call's or result's id). */
  readonly change?: ((session: Session) => Session) | { readonly event: string; readonly output: unknown } | undefined;
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
}

/**
 * Runs the workflow again on a fork of the run's input. Reused results cost nothing and name their source.
 *
 * @example
 * const again = await rerun(session, workflow, { change: { event: weather, output: "rain" }, effects: "live" });
 * console.log(`${again.reused} of ${again.of} results reused`);
 */
export async function rerun<W extends Workflow>(session: Session, workflow: W, options: RerunOptions = {}): Promise<Rerun<OutputOf<W>>> {
  const runtime = runtimeOf(session);
  givenOptions(options, ["from", "change", "effects", "memory"], "rerun");
  givenOneOf(options.effects, ["ask", "live"], "rerun.effects");
  givenOneOf(options.memory, ["recorded", "latest"], "rerun.memory");
  await flushBehind(session);
  const start = options.from === undefined ? placeOf(session).node : placeOf(session.at(options.from)).node;
  const record = await runBehind(runtime, start);
  refuseErased(record);
  const change = typeof options.change === "object" ? options.change : undefined;
  if (change !== undefined && !record.program.some((node) => node.id === change.event)) {
    throw new RathError("session.not-found", `Event ${change.event} is not part of run ${record.id}: name a call or a result of it.`, {
      session,
    });
  }
  const execution = new Execution(runtime, runtime.platform.newId(), "bare");
  runtime.watch(execution);
  const latest = options.memory === "latest" && record.program.some(({ kind }) => kind === "recall.returned");
  const revision = latest ? await (await runtime.memories.store()).revision() : undefined;
  const captured = capturedBy(runtime, record);
  const reuse = new Reuse(runtime, record.program, { effects: options.effects ?? "ask", change, captured, latest: revision });
  execution.memory = options.memory === "latest" ? "latest" : firstRevision(record.program, runtime.platform);
  const input = execution.fork(record.input, execution.scope, "rerun", record.input.by);
  reuse.standsFor(input, record.input);
  execution.reuse = reuse;
  execution.journal("run.started", {
    workflow: record.started.workflow,
    input: { session: input.log.id, head: input.id },
    bare: true,
    rerun: record.id,
  });
  const context = { host: runtime, execution, scope: execution.scope, by: "" };
  const changing = typeof options.change === "function" ? options.change : undefined;
  if (changing !== undefined && options.from !== undefined)
    reuse.replaceAfter(start, (node) => placeOf(changing(new SessionValue(node, context))).node);
  const forward = inside.run({ execution, scope: execution.scope }, () => {
    const given = new SessionValue(input, context);
    return workflow.forward(changing !== undefined && options.from === undefined ? changing(given) : given);
  });
  const end = await conclude(runtime, execution, forward, start.by);
  return {
    session: end as Session<OutputOf<W>>,
    reused: reuse.taken.length,
    of: reuse.of,
    saved: savedBy(reuse.taken),
    split: reuse.split?.event(runtime.platform),
  };
}

/** The files that directories held when the run first used them, by placement. */
function capturedBy(runtime: Runtime, record: RunRecord): ReadonlyMap<string, Captured> {
  const placements = new Map([...record.program, ...history(record.input)].map((node) => [node.id, node]));
  const captured = new Map<string, Captured>();
  for (const node of record.journal) {
    if (node.kind !== "workspace.captured") continue;
    const { placement, directory, tree, layers = [], withheld = [] } = node.data<"workspace.captured">(runtime.platform);
    const placed = placements.get(placement);
    if (placed !== undefined) captured.set(runtime.textOf(placed), { directory, tree, layers, withheld });
  }
  return captured;
}

function savedBy(taken: readonly Node[]): Usage {
  const sum = { input: 0, output: 0, cached: 0, cacheWrite: 0, reasoning: 0, usd: 0 };
  for (const { facts } of taken) for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += facts.usage?.[name] ?? 0;
  return { ...sum, own: sum };
}
