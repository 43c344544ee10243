/** A run as its record shows it: what it has come to, and what it waits for. */
import { RathError } from "../session/errors.ts";
import { isCalled, isReturned, isStarted } from "../session/event.ts";
import { callOf } from "../session/fold.ts";
import type { Log, Node } from "../session/log.ts";
import type { Platform } from "../session/platform.ts";
import type { Pending } from "../session/session.ts";
import { pendingOf } from "../session/views.ts";
import type { Settled } from "./run.ts";
import { findEvent, type RunRecord } from "./run-record.ts";
import type { Runtime } from "./runtime.ts";

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
      return { status: "waiting", session, pending: pendingIn(runtime, record) };
    default:
      return undefined;
  }
}

/** What a run waits for: what it said when it was parked, else its calls that have no result, each under its newest mark. */
export function pendingIn(runtime: Runtime, record: RunRecord): readonly Pending[] {
  const open = new Map<Node, Node>();
  for (const node of record.program) {
    if (isCalled(node.kind)) open.set(node, node);
    else if (isStarted(node.kind)) open.set(callOf(node), node);
    else if (isReturned(node.kind)) open.delete(callOf(node));
  }
  const last = record.journal.findLast((node) => node.kind === "run.parked" || node.kind === "run.resumed");
  const asked = last?.kind === "run.parked" ? new Set(last.data<"run.parked">(runtime.platform).pending) : new Set<string>();
  const waits = [...open].filter(([call, mark]) => {
    if (asked.size > 0) return asked.has(mark.id);
    // What was started since the run was last taken up is being done: nobody can say what became of it.
    return !isBegun(call, mark) || (mayBeLost(call, runtime.platform) && last !== undefined && mark.order < last.order);
  });
  return waits.map(([, mark]) => pendingOf(mark, runtime.platform));
}

/** It was started, or runs without ever saying so. */
function isBegun(call: Node, mark: Node): boolean {
  return mark !== call || !waitsAtFirst(call);
}

/** A call that waits for somebody or for a time before anything is done. */
export function waitsAtFirst({ kind, facts }: Pick<Node, "kind" | "facts">): boolean {
  return facts.started !== true && ["ask.called", "wait.called", "receive.called", "tool.called", "do.called"].includes(kind);
}

/** Whether nobody knows what became of a call that was started and has no result; any other is made again. */
export function mayBeLost(call: Node, platform: Platform): boolean {
  return (call.kind === "do.called" || call.kind === "tool.called") && call.data<"do.called">(platform).repeat === "once";
}
