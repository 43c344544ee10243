/** Runs as calls are answered with them: their rows, what they say of themselves, and what they came to. */
import { cancelOf } from "../runtime/cancel.ts";
import { heedErasures } from "../runtime/heed-erasures.ts";
import { readEvent } from "../runtime/load.ts";
import { heldNow } from "../runtime/open-runs.ts";
import { pendingRuns } from "../runtime/pending.ts";
import { hasEnded, rowOfRun } from "../runtime/run-row.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { parseEnvelope } from "../session/codec.ts";
import { RathError } from "../session/errors.ts";
import type { Event } from "../session/event.ts";
import type { RunStatus, Session } from "../session/session.ts";
import type { RunRow } from "../store/store.ts";
import type { Call } from "./route.ts";
import { resourceOf } from "./session-resource.ts";

type Calling = Pick<Call, "rath" | "runtime">;

export async function rowNamed(runtime: Runtime, id: string): Promise<RunRow> {
  const row = await rowOfRun(await runtime.store(), id);
  if (row === undefined) throw new RathError("run.not-found", `There is no run ${id} here: see GET /v1/runs.`, { details: { run: id } });
  return row;
}

/**
 * A run that is asked about. A rerun is executed by the server that was asked for it, and no worker takes it: it has no row, and what
 * its own log says is all there is.
 */
export async function anyRunNamed(runtime: Runtime, id: string): Promise<RunRow> {
  const store = await runtime.store();
  const row = await rowOfRun(store, id);
  if (row !== undefined) return row;
  for await (const { envelope } of store.events({ session: id, to: 1 })) {
    if (parseEnvelope(runtime.platform.text(envelope)).kind !== "run.started") break;
    const { started, ended } = await journalOf(runtime, id);
    const { workflow, input } = started.data;
    const isHere = ended === undefined && runtime.opened().some(({ run }) => run === id);
    const waits = isHere && (await pendingRuns(runtime, { run: id })).length > 0;
    const status = ended?.data.status ?? (waits ? "waiting" : "running");
    return { id, workflow, session: input.session, status, key: undefined, wakeAt: undefined, ...(isHere ? { owner: "this server" } : {}) };
  }
  return rowNamed(runtime, id);
}

/** What lists say of a run. */
export function rowResource(row: RunRow) {
  const { id, workflow, session, status, key, priority, wakeAt, owner } = heldNow(row);
  return {
    ...{ id, workflow, session, status: status as RunStatus },
    ...(key === undefined ? {} : { key }),
    ...(priority === undefined ? {} : { priority }),
    ...(wakeAt === undefined || hasEnded(status) ? {} : { wakeAt }),
    ...(owner === undefined ? {} : { owner }),
  };
}

/** What a run says of itself in its own log, by what it is about. */
interface Journal {
  readonly started: Event<"run.started">;
  readonly resumed: readonly Event<"run.resumed">[];
  readonly spawned: readonly Event<"run.spawned">[];
  readonly ended: Event<"run.ended"> | undefined;
  /** How it was last parked, unless it was taken up since. */
  readonly parked: Event<"run.parked"> | undefined;
}

export async function detailOf(call: Calling, row: RunRow) {
  const { runtime } = call;
  const journal = await journalOf(runtime, row.id);
  const { started, resumed, spawned, ended } = journal;
  const { input, revision, deadline, limits, parent, compensates } = started.data;
  const asked = await cancelOf(runtime, started.id);
  const { session, ...outcome } = await outcomeOf(call, row, journal);
  return {
    ...rowResource(row),
    ...{ input, started: started.at },
    ...(ended === undefined ? {} : { ended: ended.at }),
    ...(revision === undefined ? {} : { revision }),
    ...(deadline === undefined ? {} : { deadline }),
    ...(limits === undefined ? {} : { limits }),
    ...(parent === undefined ? {} : { parent }),
    ...(compensates === undefined ? {} : { compensates }),
    children: spawned.map(({ data: { run, workflow } }) => ({ run, workflow })),
    takenUp: resumed.map(({ at, data: { worker, abandoned } }) => ({ at, worker, ...(abandoned === undefined ? {} : { abandoned }) })),
    ...(asked === undefined ? {} : { cancel: { by: asked.by, at: asked.at, reason: asked.data.reason } }),
    ...(session === undefined ? {} : { usage: session.usage }),
    outcome: { ...outcome, ...(session === undefined ? {} : { session }) },
  };
}

/** How far a run has come: where it stands, what it waits for, and how it ended. */
export async function outcomeOf(call: Calling, row: RunRow, known?: Journal) {
  const { runtime } = call;
  const status = row.status as RunStatus;
  const { ended, started, parked } = known ?? (await journalOf(runtime, row.id));
  const { message, code, reason, result } = ended?.data ?? {};
  const place = result ?? (status === "queued" ? started.data.input : { session: row.session, head: undefined });
  const session = await placeNamed(call, place);
  return {
    status,
    ...(session === undefined ? {} : { session: resourceOf(session), ...(status === "done" ? outputOf(session) : {}) }),
    ...(hasEnded(status) ? {} : { pending: await pendingRuns(runtime, { run: row.id }) }),
    ...(status === "waiting" && parked?.data.diverged !== undefined ? { diverged: parked.data.diverged } : {}),
    ...(status === "failed" ? { error: { code: code ?? "run.failed", message: message ?? "the run failed" } } : {}),
    ...(status === "cancelled" ? { reason: reason ?? "cancelled" } : {}),
  };
}

async function placeNamed(
  { rath, runtime }: Calling,
  { session, head }: { readonly session: string; readonly head: string | undefined },
): Promise<Session | undefined> {
  await heedErasures(runtime);
  try {
    const opened = await rath.open(session);
    return head === undefined ? opened : opened.at(head);
  } catch (error) {
    if (RathError.is(error, "session.not-found")) return undefined; // it was removed since
    throw error;
  }
}

function outputOf(session: Session): { readonly output?: unknown } {
  try {
    return session.output === undefined ? {} : { output: session.output };
  } catch (error) {
    if (RathError.is(error, "session.no-output")) return {};
    throw error;
  }
}

async function journalOf(runtime: Runtime, run: string): Promise<Journal> {
  const store = await runtime.store();
  const events: Event[] = [];
  for await (const stored of store.events({ session: run })) events.push(await readEvent(runtime.platform, store, stored));
  const of = <Kind extends Event["kind"]>(kind: Kind) => events.filter((event): event is Event<Kind> & Event => event.kind === kind);
  const [started] = of("run.started");
  if (started?.data === undefined)
    throw new RathError("run.not-recorded", `Run ${run} says nothing of itself any more: it was erased.`, { details: { run } });
  const stood = events.findLast(({ kind }) => kind === "run.parked" || kind === "run.resumed");
  const parked = stood?.kind === "run.parked" ? stood : undefined;
  return { started, resumed: of("run.resumed"), spawned: of("run.spawned"), ended: of("run.ended").at(-1), parked };
}
