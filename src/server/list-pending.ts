/** A page of what waits. Runs are looked through in the order in which they were started, and no more of them than a call may take. */
import { z } from "@hono/zod-openapi";
import { readEvent } from "../runtime/load.ts";
import { type PendingPlace, pendingByRun, placeOf } from "../runtime/pending.ts";
import { rowOfRun } from "../runtime/run-row.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Event } from "../session/event.ts";
import type { Pending } from "../session/session.ts";
import type { RunRow } from "../store/store.ts";
import type { pendingQuery } from "../wire/api/pending.ts";
import type { Caller } from "./caller.ts";
import { noSuchPlace, readCursor, writeCursor } from "./cursor.ts";
import { mayDecide } from "./may-decide.ts";

type Query = z.infer<typeof pendingQuery>;

/** A page looks at no more runs than this, also when few of them wait for what is asked for. */
const mostRuns = 1000;

const place = z.strictObject({
  run: z.string().optional(),
  since: z.string().optional(),
  step: z.number().optional(),
  id: z.string().optional(),
});

export async function listPending(
  runtime: Runtime,
  caller: Caller,
  query: Query,
  most = mostRuns,
): Promise<{ readonly items: readonly Pending[]; readonly next?: string }> {
  const { limit, after, run } = query;
  const from = after === undefined ? undefined : readCursor(after, place);
  if (from?.run !== undefined && (await rowOfRun(await runtime.store(), from.run)) === undefined) throw noSuchPlace();
  const items: Pending[] = [];
  let [runs, last]: [number, PendingPlace] = [0, from ?? {}];
  const store = await runtime.store();
  for await (const { run: of, pending } of pendingByRun(runtime, { run, after: from })) {
    // What the page before ended in does not count: every page gets on.
    if (of !== undefined && of !== from?.run && runs++ >= most) return { items, next: writeCursor(last) };
    const row = query.session === undefined || of === undefined ? undefined : await rowOfRun(store, of);
    for (const one of pending) {
      if (!fits(caller, one, query) || (query.session !== undefined && !(await isIn(runtime, one, query.session, row)))) continue;
      if (items.length >= limit) return { items, next: writeCursor(last) };
      items.push(one);
      last = { run: of, ...placeOf(one) };
    }
    if (items.length < limit) last = { run: of };
  }
  return { items };
}

/** What waits on a branch of a run, or nested in it, waits in the session that the run works on. */
async function isIn(runtime: Runtime, one: Pending, session: string, row: RunRow | undefined): Promise<boolean> {
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

function fits(caller: Caller, one: Pending, { run, kind, to }: Query): boolean {
  if (run !== undefined && one.run !== run) return false;
  if (kind !== undefined && one.kind !== kind) return false;
  if (to === undefined) return true;
  return to === "me" ? mayDecide(caller, one) : one.kind === "question" && one.to === to;
}
