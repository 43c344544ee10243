/** What waits for a person, a signal or a time, over all runs of a store. */
import { envelopeOf } from "../session/codec.ts";
import { type Event, isStarted } from "../session/event.ts";
import { Log, type Node } from "../session/log.ts";
import type { Pending } from "../session/session.ts";
import { askedAt, pendingOf } from "../session/views.ts";
import type { RunRow } from "../store/store.ts";
import { fetchBlobs, fromStored, readEvent } from "./load.ts";
import { loadRun } from "./run-record.ts";
import { rowOfRun } from "./run-row.ts";
import { pendingIn } from "./run-view.ts";
import type { Runtime } from "./runtime.ts";

/** So many runs are looked at together. */
const atOnce = 64;

export interface PendingQuery {
  readonly run?: string | undefined;
  readonly session?: string | undefined;
}

/** Where a list of what waits goes on: after a run, or after one thing that waits in it; outside any run, where it names none. */
export interface PendingPlace {
  readonly run?: string | undefined;
  readonly since?: string | undefined;
  readonly step?: number | undefined;
  readonly id?: string | undefined;
}

/** What one run waits for. */
export interface PendingOfRun {
  /** Undefined for what waits outside the runs of the store. */
  readonly run: string | undefined;
  readonly pending: readonly Pending[];
}

export async function pendingRuns(runtime: Runtime, query: PendingQuery): Promise<readonly Pending[]> {
  const found: Pending[] = [];
  const { run, session } = query;
  const store = await runtime.store();
  for await (const { run: of, pending } of pendingByRun(runtime, query)) {
    const row = session === undefined || of === undefined || pending.length === 0 ? undefined : await rowOfRun(store, of);
    for (const one of pending)
      if ((run === undefined || one.run === run) && (session === undefined || (await isIn(runtime, one, session, row)))) found.push(one);
  }
  return found;
}

/** What waits on a branch of a run, or nested in it, waits in the session that the run works on. */
export async function isIn(runtime: Runtime, one: Pending, session: string, row: RunRow | undefined): Promise<boolean> {
  if (one.session === session) return true;
  if (row !== undefined || one.run === undefined) return row?.session === session;
  return (await inputOf(runtime, one.run)) === session || (await beginsIn(runtime, one.session, session, one.run));
}

/** The session that a run without a row was given, as its own log says: a rerun, or a workflow that this process called. */
async function inputOf(runtime: Runtime, run: string): Promise<string | undefined> {
  const store = await runtime.store();
  for await (const stored of store.events({ session: run, to: 1 })) {
    const first = (await readEvent(runtime.platform, store, stored)) as Event;
    return first.kind === "run.started" ? first.data?.input.session : undefined;
  }
  return undefined;
}

/** Whether a branch of a run is this session or begins in it, and the run made both: a rerun may go on elsewhere than where it was begun. */
async function beginsIn(runtime: Runtime, branch: string, session: string, run: string): Promise<boolean> {
  for await (const { run: made, parent } of (await runtime.store()).sessions({ id: branch }))
    return made === run && (branch === session || (parent !== undefined && beginsIn(runtime, parent, session, run)));
  return false;
}

/**
 * What waits, run after run in the order in which they were started, and within one in the order in which it was asked; an empty list
 * for a run that does not wait. What waits outside the runs of the store comes first: it goes with this process.
 */
export async function* pendingByRun(
  runtime: Runtime,
  { run, after }: PendingQuery & { readonly after?: PendingPlace | undefined },
): AsyncGenerator<PendingOfRun> {
  const store = await runtime.store();
  const here = await waitingHere(runtime);
  const unended = { status: ["waiting", "running", "queued"] };
  const rest = ({ run: of, pending }: PendingOfRun): PendingOfRun => ({ run: of, pending: pending.filter((one) => isAfter(one, after)) });
  if (after?.run === undefined) yield rest({ run: undefined, pending: here.get(undefined) ?? [] });
  const one = after?.run ?? run;
  // The rest of the run at which the page before ended, or the only one that is asked about.
  if (one !== undefined)
    for await (const row of store.runs({ id: one })) for await (const some of pendingOfRows(runtime, [row], here)) yield rest(some);
  if (run !== undefined) return;
  let rows: RunRow[] = [];
  for await (const row of store.runs({ ...unended, after: after?.run })) {
    rows.push(row);
    if (rows.length < atOnce) continue;
    yield* pendingOfRows(runtime, rows, here);
    rows = [];
  }
  yield* pendingOfRows(runtime, rows, here);
}

/** What waits in this process, by its run; outside any, or in one that has no row, under undefined. */
async function waitingHere(runtime: Runtime): Promise<ReadonlyMap<string | undefined, readonly Pending[]>> {
  const store = await runtime.store();
  const found = new Map<string | undefined, Pending[]>();
  const rows = new Map<string, Promise<RunRow | undefined>>();
  for (const { mark } of runtime.waiting()) {
    const one = pendingOf(mark, runtime.platform);
    if ((await runtime.answers.find(one.id)) !== undefined) continue;
    const row = one.run === undefined ? undefined : (rows.get(one.run) ?? rowOfRun(store, one.run));
    if (one.run !== undefined && row !== undefined) rows.set(one.run, row);
    const run = (await row)?.id;
    const others = found.get(run);
    if (others === undefined) found.set(run, [one]);
    else others.push(one);
  }
  for (const some of found.values()) some.sort(inOrder);
  return found;
}

/** What each of these runs waits for, in their order. */
async function* pendingOfRows(
  runtime: Runtime,
  rows: readonly RunRow[],
  here: ReadonlyMap<string | undefined, readonly Pending[]>,
): AsyncGenerator<PendingOfRun> {
  const marks = new Map<string, readonly string[]>();
  for (const row of rows) {
    // Whoever answers wakes the run: of one that nobody woke or took, nothing is answered.
    const sure = row.status === "waiting" && row.woken !== true && row.owner === undefined;
    const parked = sure ? await parkedUnder(runtime, row.id) : undefined;
    if (parked !== undefined) marks.set(row.id, parked);
  }
  const byRun = new Map<string | undefined, Pending[]>();
  for (const one of await pendingUnder(runtime, [...marks.values()].flat())) {
    const others = byRun.get(one.run);
    if (others === undefined) byRun.set(one.run, [one]);
    else others.push(one);
  }
  for (const row of rows) {
    const { id } = row;
    const known = here.get(id) ?? [];
    const others = marks.has(id) ? (byRun.get(id) ?? []) : isUntouched(row) ? [] : await unanswered(runtime, id);
    const ids = new Set(known.map((one) => one.id));
    yield { run: id, pending: [...known, ...others.filter((one) => !ids.has(one.id))].sort(inOrder) };
  }
}

/** Nobody has begun it: one that was left is queued too, and what it asked waits. */
function isUntouched({ status, claimed }: RunRow): boolean {
  return status === "queued" && claimed !== true;
}

async function unanswered(runtime: Runtime, run: string): Promise<readonly Pending[]> {
  const some = pendingIn(runtime, await loadRun(runtime, run));
  const answered = await Promise.all(some.map(async ({ id }) => (await runtime.answers.find(id)) !== undefined));
  return some.filter((_, index) => answered[index] === false);
}

/** Without a time and an id a place is after all of its run. */
function isAfter(one: Pending, after: PendingPlace | undefined): boolean {
  if (after === undefined) return true;
  if (after.since === undefined || after.id === undefined) return false;
  return compared(placeOf(one), { since: after.since, step: after.step ?? 0, id: after.id }) > 0;
}

function inOrder(a: Pending, b: Pending): number {
  return compared(placeOf(a), placeOf(b));
}

interface Asked {
  readonly since: string;
  readonly step: number;
  readonly id: string;
}

/** Where it is in the order of its run: when it was asked, then where in its branch. */
export function placeOf(pending: Pending): Asked {
  const { since, id } = pending;
  return { since, step: askedAt(pending), id };
}

function compared(a: Asked, b: Asked): number {
  if (a.since !== b.since) return a.since < b.since ? -1 : 1;
  return a.step - b.step || (a.id < b.id ? -1 : a.id === b.id ? 0 : 1);
}

/** The marks a run said it waits for when it was parked; undefined when it said none. */
export async function parkedUnder(runtime: Runtime, run: string): Promise<readonly string[] | undefined> {
  let marks: readonly string[] | undefined;
  for await (const event of (await runtime.store()).events({ session: run })) {
    const envelope = envelopeOf(runtime.platform, event);
    if (envelope.kind === "run.resumed") marks = undefined;
    if (envelope.kind === "run.parked")
      marks = fromStored(runtime.platform, event, new Log(run, "run"), [], envelope).data<"run.parked">(runtime.platform).pending;
  }
  return marks === undefined || marks.length === 0 ? undefined : marks;
}

/** What waits under marks, read from the store. */
export async function pendingUnder(runtime: Runtime, ids: readonly string[]): Promise<readonly Pending[]> {
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
    const envelope = envelopeOf(runtime.platform, event);
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
