/** A page of what waits. Runs are looked through in the order in which they were started, and no more of them than a call may take. */
import { z } from "@hono/zod-openapi";
import { isIn, type PendingPlace, pendingByRun, placeOf } from "../runtime/pending.ts";
import { rowOfRun } from "../runtime/run-row.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Pending } from "../session/session.ts";
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

function fits(caller: Caller, one: Pending, { run, kind, to }: Query): boolean {
  if (run !== undefined && one.run !== run) return false;
  if (kind !== undefined && one.kind !== kind) return false;
  if (to === undefined) return true;
  return to === "me" ? mayDecide(caller, one) : one.kind === "question" && one.to === to;
}
