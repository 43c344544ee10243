/**
 * The closed union of event kinds. Each kind is declared once: its shape in schema.ts, its version and its place in the
 * grammar here. Adding a kind breaks compilation at every fold until it is handled.
 */
import type { z } from "zod";
import type { EventId, SessionId } from "./id.ts";
import type { envelopeSchema, schemas } from "./schema.ts";

/** Every kind of event there is, like "tool.called". */
export type EventKind = keyof typeof schemas;
export type DataOf<K extends EventKind> = z.infer<(typeof schemas)[K]>;

/** Small things that are not content: in clear, hashed, they survive erasure. */
export type Facts = Readonly<z.infer<typeof envelopeSchema>["facts"]>;
export type OutcomeType = NonNullable<Facts["outcome"]>;

/** An event of one kind. */
interface EventOf<K extends EventKind> {
  readonly id: EventId;
  readonly session: SessionId;
  readonly parents: readonly EventId[];
  readonly step: number;
  readonly kind: K;
  readonly version: number;
  readonly at: string;
  readonly by: string;
  readonly facts: Facts;
  /** Decoded and frozen; undefined once erased. */
  readonly data: DataOf<K>;
}

/**
 * One thing that happened. Its id is the SHA-256 of its canonical envelope, which names its parents and a salted digest of
 * `data`. Looking at `kind` tells what `data` is.
 *
 * @example
 * for (const event of session.events()) if (event.kind === "message.added") console.log(event.data.role);
 */
export type Event<K extends EventKind = EventKind> = K extends EventKind ? EventOf<K> : never;

/** The version of each kind that this package writes. Older ones are upcast when read, newer ones refused by name. */
export const versions: Readonly<Record<EventKind, number>> = {
  "session.created": 1,
  "session.forked": 1,
  "session.detached": 1,
  "session.imported": 1,
  "session.merged": 1,
  "session.rejected": 1,
  "message.added": 1,
  "note.added": 1,
  "record.linked": 1,
  "placement.changed": 1,
  "workflow.entered": 1,
  "workflow.left": 1,
  "context.compressed": 1,
  "agent.stopped": 1,
  "model.called": 1,
  "model.returned": 1,
  "tool.called": 1,
  "tool.started": 1,
  "tool.returned": 1,
  "route.called": 1,
  "route.returned": 1,
  "do.called": 1,
  "do.started": 1,
  "do.returned": 1,
  "check.called": 1,
  "check.returned": 1,
  "ask.called": 1,
  "ask.returned": 1,
  "wait.called": 1,
  "wait.returned": 1,
  "receive.called": 1,
  "receive.returned": 1,
  "recall.called": 1,
  "recall.returned": 1,
  "remember.called": 1,
  "remember.returned": 1,
  "forget.called": 1,
  "forget.returned": 1,
  "run.started": 1,
  "run.resumed": 1,
  "run.spawned": 1,
  "run.asked": 1,
  "run.forked": 1,
  "run.parked": 1,
  "run.ended": 1,
  "run.signed": 1,
  "sandbox.opened": 1,
  "sandbox.closed": 1,
  "workspace.captured": 1,
  "memory.published": 1,
  "budget.crossed": 1,
  "answer.given": 1,
  "signal.sent": 1,
  "data.erased": 1,
};

/** The effects there are: each has `op.called`, perhaps `op.started`, and `op.returned`. */
export type Op = "do" | "check" | "ask" | "wait" | "receive" | "model" | "tool" | "route" | "recall" | "remember" | "forget";
export type CalledKind = `${Op}.called` & EventKind;
export type StartedKind = `${Op}.started` & EventKind;
export type ReturnedKind = `${Op}.returned` & EventKind;

export function isCalled(kind: EventKind): kind is CalledKind {
  return kind.endsWith(".called");
}
export function isReturned(kind: EventKind): kind is ReturnedKind {
  return kind.endsWith(".returned");
}
/** A mark that an effect which had to wait begins now. */
export function isStarted(kind: EventKind): kind is StartedKind {
  return kind.endsWith(".started") && kind !== "run.started";
}
export function opOf(kind: CalledKind | ReturnedKind): Op {
  return kind.slice(0, kind.indexOf(".")) as Op;
}
