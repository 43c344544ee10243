/** What the verbs of a session need from a runtime. Implemented by `runtime/`; the value itself causes no effect. */
import type { DataOf, EventKind, Op } from "./event.ts";
import type { Scope } from "./id.ts";
import type { Node } from "./log.ts";
import type { Platform } from "./platform.ts";
import type { EffectContext, MergeOptions, Repeat, Session } from "./session.ts";

/** Travels inside the value: who executes it, under which scope, and who acts. */
export interface Context {
  readonly host: Host;
  /** The execution it belongs to; only the host looks inside. */
  readonly execution: object;
  readonly scope: Scope;
  readonly by: string;
}

/** Kinds of events a verb adds without causing an effect. */
export type PureKind = Exclude<
  EventKind,
  `${Op}.${string}` | `run.${string}` | "answer.given" | "session.created" | "session.forked" | "session.detached" | "session.merged"
>;

/** An effect as a verb asks for it. */
export interface Effect {
  readonly op: Op;
  /** What is asked, and what a recorded call is matched by. */
  readonly called: Readonly<Record<string, unknown>>;
  readonly repeat: Repeat;
  /** Absent when it waits for a person or a timer. */
  readonly run?: ((context: EffectContext) => unknown) | undefined;
  /** Makes a value of a person's answer; throws when it does not fit the question. */
  readonly accept?: ((answer: unknown) => unknown) | undefined;
  /** What is stored of a result; default `{ value }`. */
  readonly store?: ((value: unknown) => Readonly<Record<string, unknown>>) | undefined;
  /** A failure is a value of this effect, not a rejection. */
  readonly failureIsValue?: boolean | undefined;
}

export interface Host {
  readonly platform: Platform;
  add<K extends PureKind>(session: Session, kind: K, data: DataOf<K>): Session;
  fork(session: Session, label: string | undefined): Session;
  detach(session: Session): Session;
  merge(session: Session, others: readonly Session[], options: MergeOptions): Promise<Session>;
  perform(session: Session, effect: Effect): Promise<Session>;
  /** Enters a workflow, calls `forward` with the session inside it, and leaves. Claims the head before it returns. */
  enter(session: Session, workflow: object, forward: (session: Session) => Promise<Session>): Promise<Session>;
}

/** A place in a log with the context it is used in. */
export interface Place {
  readonly node: Node;
  readonly context: Context;
}
