/**
 * What people were asked within effects: by themselves, by work nested in them, however deep, or by runs that they started. A result that
 * was reused has its nested work in the run that it was taken from.
 */
import { RathError } from "../session/errors.ts";
import { isCalled, isReturned } from "../session/event.ts";
import { callOf } from "../session/fold.ts";
import type { Node } from "../session/log.ts";
import type { Platform } from "../session/platform.ts";
import type { Pending } from "../session/session.ts";
import { pendingOf } from "../session/views.ts";
import { scopeOf } from "./recorded.ts";
import { loadRun, type RunRecord, refuseErased } from "./run-record.ts";
import type { Runtime } from "./runtime.ts";
import { namedBy } from "./waits.ts";

/** `events` are calls of the run, or results; `seen` are runs that were looked at whole. */
export async function askedWithin(
  runtime: Runtime,
  record: RunRecord,
  events: ReadonlySet<string>,
  seen: Set<string> = new Set(),
): Promise<readonly Pending[]> {
  const { platform } = runtime;
  const { program, journal } = record;
  const named = new Set(journal.flatMap((said) => namedBy(said, platform)));
  const inside = new Set(program.flatMap((node) => (events.has(node.id) ? (callBehind(node)?.id ?? []) : [])));
  const asked = new Set<Node>();
  /** Calls whose result was reused, by its source. */
  const reused = new Map<string, Node>();
  // A call comes before what is nested in it.
  for (const node of program) {
    const call = callBehind(node);
    if (call === undefined) continue;
    const scope = scopeOf(call.log);
    if (scope !== undefined && "call" in scope && inside.has(scope.call)) inside.add(call.id);
    if (!inside.has(call.id)) continue;
    if (wasAsked(node, named, platform)) asked.add(call);
    if (node.facts.source !== undefined) reused.set(node.facts.source, call);
  }
  const elsewhere: Pending[] = [];
  for (const [run, sources] of await byRun(runtime, [...reused.keys()])) {
    const source = await wholeRun(runtime, run);
    if (source === undefined) continue;
    elsewhere.push(...(await askedWithin(runtime, source, sources, seen)));
    for (const id of sources) reused.delete(id);
  }
  for (const { run, call } of startedWithin(record, inside, platform)) {
    if (seen.has(run)) continue;
    seen.add(run);
    const started = await wholeRun(runtime, run);
    if (started === undefined) asked.add(call);
    else elsewhere.push(...(await askedWithin(runtime, started, new Set(started.program.map(({ id }) => id)), seen)));
  }
  // Nobody knows any more who was asked behind what is left: it counts as if somebody was.
  return [...[...asked, ...reused.values()].map((call) => pendingOf(call, platform)), ...elsewhere];
}

/** Runs that were started inside these effects. One of which the record does not say where may have been started in any of them. */
function startedWithin({ program, journal }: RunRecord, inside: ReadonlySet<string>, platform: Platform): readonly Started[] {
  const calls = new Map(program.map((node) => [node.id, node]));
  const [any] = inside;
  return journal.flatMap((said) => {
    if (said.kind !== "run.spawned" || any === undefined) return [];
    const { run, call = any } = said.data<"run.spawned">(platform);
    const at = calls.has(call) ? call : any;
    return inside.has(at) ? [{ run, call: calls.get(at) as Node }] : [];
  });
}

interface Started {
  readonly run: string;
  readonly call: Node;
}

/** Undefined for what is neither a call nor a result. */
function callBehind(node: Node): Node | undefined {
  if (isCalled(node.kind)) return node;
  return isReturned(node.kind) ? callOf(node) : undefined;
}

/** It is a question, a call that a person was to approve (`named`: its run said so), or a result that a person decided. */
function wasAsked(node: Node, named: ReadonlySet<string>, platform: Platform): boolean {
  if (node.kind === "ask.called") return true;
  if (node.kind === "tool.called") return named.has(node.id) || node.data<"tool.called">(platform).approval !== undefined;
  return isReturned(node.kind) && node.data<"do.returned">(platform).answer !== undefined;
}

async function byRun(runtime: Runtime, events: readonly string[]): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const found = new Map<string, Set<string>>();
  if (events.length === 0) return found;
  for await (const { id, run = "" } of (await runtime.store()).events({ ids: events }))
    found.set(run, (found.get(run) ?? new Set()).add(id));
  return found;
}

/** Undefined when it, or some of what it said, is gone. */
async function wholeRun(runtime: Runtime, id: string): Promise<RunRecord | undefined> {
  try {
    const record = await loadRun(runtime, id);
    refuseErased(record);
    return record;
  } catch (error) {
    if (["run.not-found", "run.not-recorded", "event.erased"].includes(RathError.is(error) ? error.code : "")) return undefined;
    throw error;
  }
}
