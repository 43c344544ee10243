/** What waits for a person, a signal or a time, over all runs of a store. */
import { parseEnvelope } from "../session/codec.ts";
import { isStarted } from "../session/event.ts";
import { Log, type Node } from "../session/log.ts";
import type { Pending } from "../session/session.ts";
import { pendingOf } from "../session/views.ts";
import type { RunRow } from "../store/store.ts";
import { fetchBlobs, fromStored } from "./load.ts";
import { loadRun } from "./run-record.ts";
import { pendingIn } from "./run-view.ts";
import type { Runtime } from "./runtime.ts";

/** So many ids are asked for at once. */
const atOnce = 200;

export interface PendingQuery {
  readonly run?: string | undefined;
  readonly session?: string | undefined;
}

export async function pendingRuns(runtime: Runtime, query: PendingQuery): Promise<readonly Pending[]> {
  const found = new Map<string, Pending>();
  const doubtful = new Set<string>();
  const add = (one: Pending, sure: boolean): void => {
    found.set(one.id, one);
    if (!sure) doubtful.add(one.id);
  };
  for (const { mark } of runtime.waiting()) add(pendingOf(mark, runtime.platform), false);
  const parked: string[] = [];
  for await (const row of rowsOf(runtime, query.run)) {
    const marks = row.status === "waiting" ? await parkedUnder(runtime, row.id) : undefined;
    // Whoever answers wakes the run: of one that nobody woke or took, nothing is answered.
    const sure = row.woken !== true && row.owner === undefined;
    if (marks !== undefined && sure) parked.push(...marks.filter((id) => !found.has(id)));
    else for (const one of pendingIn(runtime, await loadRun(runtime, row.id))) if (!found.has(one.id)) add(one, false);
  }
  for (let i = 0; i < parked.length; i += atOnce)
    for (const one of await pendingUnder(runtime, parked.slice(i, i + atOnce))) add(one, true);
  for (const id of doubtful) if ((await runtime.answers.find(id)) !== undefined) found.delete(id);
  return [...found.values()].filter(
    (one) => (query.run === undefined || one.run === query.run) && (query.session === undefined || one.session === query.session),
  );
}

/** Runs that have not ended. */
async function* rowsOf(runtime: Runtime, run: string | undefined): AsyncGenerator<RunRow> {
  const store = await runtime.store();
  if (run !== undefined) yield* store.runs({ id: run });
  else for (const status of ["waiting", "running", "queued"]) yield* store.runs({ status });
}

/** The marks a run said it waits for when it was parked; undefined when it said none. */
async function parkedUnder(runtime: Runtime, run: string): Promise<readonly string[] | undefined> {
  let marks: readonly string[] | undefined;
  for await (const event of (await runtime.store()).events({ session: run })) {
    const envelope = parseEnvelope(runtime.platform.text(event.envelope));
    if (envelope.kind === "run.resumed") marks = undefined;
    if (envelope.kind === "run.parked")
      marks = fromStored(runtime.platform, event, new Log(run, "run"), [], envelope).data<"run.parked">(runtime.platform).pending;
  }
  return marks === undefined || marks.length === 0 ? undefined : marks;
}

async function pendingUnder(runtime: Runtime, ids: readonly string[]): Promise<readonly Pending[]> {
  const marks = await nodesOf(runtime, ids);
  const calls = await nodesOf(
    runtime,
    marks.flatMap(({ node, before }) => (isStarted(node.kind) && before !== undefined ? [before] : [])),
  );
  const byId = new Map(calls.map(({ node }) => [node.id, node]));
  return marks.flatMap(({ node, before }) => {
    const call = isStarted(node.kind) ? byId.get(before ?? "") : node;
    return call === undefined ? [] : [pendingOf(node, runtime.platform, call)];
  });
}

async function nodesOf(
  runtime: Runtime,
  ids: readonly string[],
): Promise<readonly { readonly node: Node; readonly before: string | undefined }[]> {
  if (ids.length === 0) return [];
  const store = await runtime.store();
  const found: { readonly node: Node; readonly before: string | undefined }[] = [];
  for await (const event of store.events({ ids })) {
    const envelope = parseEnvelope(runtime.platform.text(event.envelope));
    const node = fromStored(runtime.platform, event, new Log(event.session), [], envelope);
    found.push({ node, before: envelope.facts.call ?? envelope.parents[0] });
  }
  await fetchBlobs(
    runtime.platform,
    store,
    found.map(({ node }) => node),
  );
  return found;
}
