/** A run as its record shows it: what it has come to, and what it waits for. */
import { RathError } from "../session/errors.ts";
import { isCalled, isReturned, isStarted } from "../session/event.ts";
import { callOf } from "../session/fold.ts";
import type { Log, Node } from "../session/log.ts";
import type { Pending } from "../session/session.ts";
import { pendingOf } from "../session/views.ts";
import { type Divergence, divergedText } from "./divergence.ts";
import type { Settled } from "./run.ts";
import { findEvent, type RunRecord } from "./run-record.ts";
import type { Runtime } from "./runtime.ts";
import { namedBy, waitsUnder } from "./waits.ts";

/** Where a run stands now, read from its record. */
export function settledOf(runtime: Runtime, record: RunRecord, status: string): Settled | undefined {
  const branch: Log = record.input.log;
  const last = record.ended?.result;
  const place = (last === undefined ? undefined : findEvent(branch, last.head)) ?? record.program.at(-1) ?? record.input;
  const session = runtime.outside(place);
  switch (status) {
    case "done":
      return { status: "done", session };
    case "failed":
      return {
        status: "failed",
        session,
        error: new RathError((record.ended?.code as "run.failed" | undefined) ?? "run.failed", record.ended?.message ?? "the run failed", {
          session,
        }),
      };
    case "cancelled":
      return { status: "cancelled", session, reason: record.ended?.reason ?? "cancelled" };
    case "waiting":
      return { status: "waiting", session, pending: pendingIn(runtime, record), diverged: divergedIn(runtime, record) };
    default:
      return undefined;
  }
}

/** Where its code left its record, if that is why it waits. The two sides are not on record: whoever resumes the run is shown them. */
function divergedIn({ platform }: Runtime, { journal, events }: RunRecord): Divergence | undefined {
  const last = journal.findLast((node) => node.kind === "run.parked" || node.kind === "run.resumed");
  const diverged = last?.kind === "run.parked" ? last.data<"run.parked">(platform).diverged : undefined;
  const node = diverged === undefined ? undefined : events.find(({ id }) => id === diverged.event);
  if (diverged === undefined || node === undefined) return undefined;
  return { at: node.event(platform), field: diverged.field, expected: undefined, got: undefined, text: divergedText(diverged) };
}

/** What a run waits for: what it said when it was parked, else its calls that are seen to wait, each under its newest mark. */
export function pendingIn(runtime: Runtime, record: RunRecord): readonly Pending[] {
  const open = new Map<Node, Node>();
  for (const node of record.program) {
    if (isCalled(node.kind)) open.set(node, node);
    else if (isStarted(node.kind)) open.set(callOf(node), node);
    else if (isReturned(node.kind)) open.delete(callOf(node));
  }
  const last = record.journal.findLast((node) => node.kind === "run.parked" || node.kind === "run.resumed");
  const parked = last === undefined ? [] : namedBy(last, runtime.platform);
  const waits = [...open].filter(([call, mark]) =>
    parked.length > 0 ? parked.includes(mark.id) : waitsUnder(mark, call, record.journal, runtime.platform),
  );
  return waits.map(([, mark]) => pendingOf(mark, runtime.platform));
}
