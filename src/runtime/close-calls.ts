/** Calls on record that nobody makes again: they are closed, so that nobody waits for them. */
import { isCalled, isReturned, isStarted } from "../session/event.ts";
import { callOf } from "../session/fold.ts";
import type { Node } from "../session/log.ts";
import type { Execution } from "./execution.ts";

/** Of these events, calls without a result among them. What was started may have happened. */
export function closeCalls(execution: Execution, events: readonly Node[], reason: string): void {
  const returned = new Set(events.filter(({ kind }) => isReturned(kind)).map(callOf));
  const begun = new Set(events.filter(({ kind }) => isStarted(kind)).map(callOf));
  for (const call of events) {
    if (!isCalled(call.kind) || returned.has(call)) continue;
    const unknown = call.facts.started === true || begun.has(call);
    execution.closeRecorded(call, unknown ? "unknown" : "cancelled", reason);
  }
}
