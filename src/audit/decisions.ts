/** Who decided what behind a session: every approval, answer and verdict on a lost effect, with the person and the reason. */
import { decisionOn } from "../runtime/decide.ts";
import { flushBehind, runtimeOf } from "../runtime/replay.ts";
import { isCalled, isReturned, isStarted } from "../session/event.ts";
import type { Decided, Session } from "../session/session.ts";

/**
 * What was decided from outside in everything behind a session, in the order it was asked: who let a call happen or refused it, who
 * answered a question, who said what became of an effect. What still waits is not among it: `rath.pending` has that.
 *
 * @example
 * for (const { pending, by, approve, reason } of await decisions(session)) console.log(pending.kind, by, approve, reason);
 */
export async function decisions(session: Session): Promise<readonly Decided[]> {
  const runtime = runtimeOf(session);
  await flushBehind(session);
  const found = new Map<string, Decided>();
  for (const asked of askedBehind(session)) {
    const decided = await decisionOn(runtime, asked);
    if (decided.id !== undefined) found.set(decided.id, decided);
  }
  return [...found.values()];
}

/** Events under which something waited and was answered: calls, and marks that a call was started after it had waited. */
function askedBehind(session: Session): readonly string[] {
  const newest = new Map<string, string>();
  const asked = new Set<string>();
  /** Calls and marks, in order, with the call they belong to. */
  const marks: { readonly id: string; readonly call: string }[] = [];
  for (const { id, session: log, kind, facts, data } of session.events()) {
    if (isCalled(kind)) newest.set(log, id);
    // One that does not name its call belongs to the newest one of its log.
    const call = isCalled(kind) ? id : (facts.call ?? newest.get(log) ?? id);
    if (isCalled(kind) || isStarted(kind)) marks.push({ id, call });
    if (isReturned(kind) && (data as { readonly answer?: string } | undefined)?.answer !== undefined) asked.add(call);
  }
  // What is answered and nobody has taken up yet still waits.
  for (const { id, kind } of session.pending) if (kind === "question" || kind === "approval" || kind === "unknown") asked.add(id);
  return marks.flatMap(({ id, call }) => (asked.has(call) || asked.has(id) ? [id] : []));
}
