/** Effects of a lineage: each call with the mark that it began and what it came to. */
import type { Given } from "../../runtime/services.ts";
import type { DataOf, Event, Op, OutcomeType } from "../../session/event.ts";
import { isCalled, isReturned, isStarted, opOf } from "../../session/event.ts";
import { callBehind } from "../../wire/event-line.ts";
import { isApproval } from "../approvals.ts";

/** A call and what became of it. */
export interface Effect {
  readonly op: Op;
  /** What was called: a tool, a check, a question, a model. */
  readonly name: string;
  readonly by: string;
  readonly session: string;
  readonly step: number;
  readonly call: Event;
  /** That it began after it had to wait. */
  readonly started: Event | undefined;
  readonly result: Event | undefined;
  /** Open: it has no result. */
  readonly outcome: OutcomeType | "open";
  /** Milliseconds since 1970. It may have waited between `asked` and `begun`; one without a result has no end. */
  readonly asked: number;
  readonly begun: number;
  readonly ended: number | undefined;
  readonly ms: number | undefined;
  readonly attempts: number;
  /** The result that a rerun took in place of doing it. */
  readonly reused: string | undefined;
}

/** The effects among events, in the order of their calls. */
export function effectsOf(events: readonly Event[], find: (id: string) => Event | undefined): readonly Effect[] {
  const marks = new Map<string, { started?: Event; result?: Event }>();
  for (const event of events) {
    if (isCalled(event.kind)) marks.set(event.id, {});
    const call = isStarted(event.kind) || isReturned(event.kind) ? callBehind(event, find) : undefined;
    const mark = call === undefined ? undefined : marks.get(call.id);
    if (mark === undefined) continue;
    if (isReturned(event.kind)) mark.result = event;
    else mark.started = event;
  }
  return events.flatMap((event) => {
    const mark = marks.get(event.id);
    return mark === undefined || !isCalled(event.kind) ? [] : [effectOf(event, opOf(event.kind), mark.started, mark.result)];
  });
}

function effectOf(call: Event, op: Op, started: Event | undefined, result: Event | undefined): Effect {
  const { facts } = result ?? {};
  return {
    ...{ op, name: nameOf(call), by: call.by, session: call.session, step: call.step, call, started, result },
    outcome: result === undefined ? "open" : (facts?.outcome ?? "ok"),
    asked: Date.parse(call.at),
    begun: Date.parse(started?.at ?? call.at),
    ended: result === undefined ? undefined : Date.parse(result.at),
    ms: facts?.ms,
    attempts: facts?.attempts ?? 1,
    reused: facts?.source,
  };
}

function nameOf(call: Event): string {
  if (call.data === undefined) return "[erased]";
  switch (call.kind) {
    case "tool.called":
    case "do.called":
    case "check.called":
      return call.data.name;
    case "model.called":
      return call.data.model;
    case "ask.called":
      return call.data.question;
    case "receive.called":
      return call.data.signal;
    case "wait.called":
      return call.data.until ?? call.data.for ?? "";
    case "route.called":
      return call.data.candidates.map(({ name }) => name).join(" | ");
    case "recall.called":
      return call.data.query ?? call.data.key ?? "all";
    case "remember.called":
    case "forget.called":
      return call.data.key;
    default:
      return call.kind;
  }
}

/** Whether somebody was asked if a call of a tool may happen; the call knows that, or the decision on it. */
export function neededApproval({ call }: Effect, decision: Given | undefined): boolean {
  return (
    dataOf(call, "tool.called")?.approval !== undefined ||
    (call.kind === "tool.called" && decision !== undefined && isApproval(decision.data))
  );
}

/** The data of a call, when it is of this kind and was not erased. */
export function dataOf<K extends Event["kind"]>(event: Event | undefined, kind: K): DataOf<K> | undefined {
  return event?.kind === kind ? (event.data as DataOf<K> | undefined) : undefined;
}

/** A call of a tool, or an effect of a workflow's own: what the world was asked. */
export function actsOutside({ op }: Effect): boolean {
  return op === "tool" || op === "do";
}

/** What such a call was given, and what is on record of its end. */
export function exchangeOf({ call, result }: Effect) {
  return {
    input: (dataOf(call, "tool.called") ?? dataOf(call, "do.called"))?.input,
    returned: dataOf(result, "tool.returned") ?? dataOf(result, "do.returned"),
  };
}

/** Why an effect did not go well, in the words on record. */
export function problemOf({ result, outcome }: Effect): string {
  const data = (result?.data ?? {}) as { readonly message?: string; readonly reason?: string };
  return data.message ?? data.reason ?? (outcome === "open" ? "it has no result" : outcome);
}
