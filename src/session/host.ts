/** What the verbs of a session need from a runtime. Implemented by `runtime/`; the value itself causes no effect. */
import type { DataOf, EventKind, Facts, Op, OutcomeType } from "./event.ts";
import type { Scope } from "./id.ts";
import type { Node } from "./log.ts";
import type { Model, ModelLike } from "./model.ts";
import type { Platform } from "./platform.ts";
import type {
  Applied,
  ApplyOptions,
  Conflict,
  Duration,
  EffectContext,
  Files,
  Limits,
  MemoryScope,
  MergeOptions,
  Probed,
  Remembered,
  Repeat,
  Session,
  Tool,
  ToolContext,
  Totals,
} from "./session.ts";
import type { StreamPart } from "./stream.ts";

/** Travels inside the value: who executes it, under which scope, and who acts. */
export interface Context {
  readonly host: Host;
  /** The execution it belongs to; only the host looks inside. */
  readonly execution: object;
  readonly scope: Scope;
  readonly by: string;
  /** The workflow that is executing: its children are named by where they are in it. */
  readonly workflow?: object | undefined;
  /** Stops the work under this value. */
  readonly signal?: AbortSignal | undefined;
  /** The only scope of memory that work under this value may use. */
  readonly memory?: MemoryScope | undefined;
  /** Limits over this value and everything under it. */
  readonly budgets?: readonly Budget[] | undefined;
  /** What an agent asks otherwise than it says. */
  readonly instead?: AskedInstead | undefined;
}

/** From its `turn`-th call on, an agent asks another model or with other instructions. */
export interface AskedInstead {
  readonly by: string;
  readonly turn: number;
  readonly model?: ModelLike | undefined;
  readonly instructions?: string | undefined;
}

/** A limit that many calls share. What a call may cost at most is reserved before it and settled after it. */
export interface Budget {
  readonly limits: Limits;
  /** What is left; undefined where nothing is limited. */
  readonly left: { readonly tokens: number | undefined; readonly usd: number | undefined; readonly ms: number | undefined };
  /** True when a model has answered without saying what that took: nobody knows what is left. */
  readonly uncounted: boolean;
  /** Reserves, and gives back the function that settles with what was spent. */
  reserve(tokens: number, usd: number): (spent: Totals | undefined) => void;
  /** Counts what was spent without a reservation, or in an earlier execution; undefined where nobody said. */
  count(spent: Totals | undefined): void;
  /** Records that a limit was reached. */
  crossed(limit: "rounds" | "tokens" | "usd" | "time", of: number, spent: number): void;
}

/** Kinds of events a verb adds without causing an effect. */
export type PureKind = Exclude<
  EventKind,
  | `${Op}.${string}`
  | `run.${string}`
  | `sandbox.${string}`
  | "workspace.captured"
  | "memory.published"
  | "budget.crossed"
  | "answer.given"
  | "signal.sent"
  | "data.erased"
  | "session.created"
  | "session.forked"
  | "session.detached"
  | "session.imported"
  | "session.merged"
>;

/** What the code of an effect is given, and what only our own effects use: parts for whoever watches. */
export interface InnerEffectContext extends ToolContext {
  /** The session that the call is in; with the key, it changes when the branch was continued elsewhere before the call was written. */
  readonly branch: string;
  emit(part: WatchedPart): void;
  /** Why it is to stop, once it is. */
  readonly aborted: string | undefined;
  /** Calls when it is to stop, at once if it is already. Gives back what ends that. */
  onAbort(stop: (reason: Error) => void): () => void;
  /** The result stands on this session, where nested work ended elsewhere than on its own branch. */
  standsOn(session: Session): void;
}
/** A part without who and where. */
export type WatchedPart = StreamPart extends infer P ? (P extends StreamPart ? Omit<P, "by" | "session"> : never) : never;

/** What an effect came to, when that is more than a value. */
export class EffectResult {
  readonly outcome: OutcomeType;
  readonly data: Readonly<Record<string, unknown>>;
  readonly spent: {
    readonly usage?: Totals | undefined;
    readonly attempts?: number | undefined;
    /** What folds must know of it. */
    readonly facts?: Pick<Facts, "injected" | "outside" | "trusted"> | undefined;
  };

  constructor(outcome: OutcomeType, data: Readonly<Record<string, unknown>>, spent: EffectResult["spent"] = {}) {
    this.outcome = outcome;
    this.data = data;
    this.spent = spent;
  }
}

export type EffectCode = (context: InnerEffectContext) => unknown;

/** An effect as a verb asks for it. */
export interface Effect {
  readonly op: Op;
  /** What is asked, and what a recorded call is matched by. */
  readonly called: Readonly<Record<string, unknown>>;
  readonly repeat: Repeat;
  /** Absent when it waits for a person, a timer or a signal. */
  readonly run?: EffectCode | undefined;
  /** Asked before it starts: nothing lets it go on, "ask" waits for a person's approval, a result ends it. */
  readonly before?: (() => Verdict | Promise<Verdict>) | undefined;
  /** It comes to nothing: this is its result, unless it was started by an earlier execution and may have happened. */
  readonly refused?: EffectResult | undefined;
  /** The code for an input that a person changed when approving; throws when it does not fit. */
  readonly edited?: ((input: unknown) => EffectCode | Promise<EffectCode>) | undefined;
  /** In one batch, effects with the same one run one after the other; "*" is shared with all. */
  readonly resource?: string | undefined;
  /** It says that it changes nothing but files: where it acts it then depends on files alone. */
  readonly filesAlone?: boolean | undefined;
  readonly timeoutMs?: number | undefined;
  /** How often a failing `safe` or `keyed` effect is tried. */
  readonly attempts?: number | undefined;
  /** Asked after a crash before a person is: did it happen? */
  readonly probe?: ((key: string, context: EffectContext) => Promise<Probed | undefined>) | undefined;
  /** Makes a value of a person's answer, or of a signal; throws when it does not fit what was asked for. */
  readonly accept?: ((answer: unknown) => unknown) | undefined;
  /** What is stored of a result; default `{ value }`. */
  readonly store?: ((value: unknown) => Readonly<Record<string, unknown>>) | undefined;
  /** A failure is a value of this effect, not a rejection. */
  readonly failureIsValue?: boolean | undefined;
  /** Its result is as trusted as the work inside it, and trusted when there is none. */
  readonly trustsInner?: boolean | undefined;
}
export type Verdict = EffectResult | "ask" | undefined;

/** US dollars for a million tokens, and the table they come from. */
export interface Price {
  readonly table: string;
  readonly input: number;
  readonly output: number;
  readonly cached: number;
  readonly cacheWrite: number;
}

/** Refused, or who wants a person to say yes. */
export interface Judgement {
  readonly refused?: { readonly reason: string; readonly problem: "policy" | "limit" } | undefined;
  readonly asks: (input: unknown) => "policy" | undefined;
  /** How long that person has. */
  readonly expires?: Duration | undefined;
}

/** How a workflow is entered. */
export interface Entering {
  /** Over everything under it. */
  readonly limits?: Limits | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Gets what happens inside, as it happens. */
  readonly watch?: ((part: StreamPart) => void) | undefined;
  /** The scope of memory that work under it uses, unless it names another. */
  readonly memory?: MemoryScope | undefined;
}

/** What is recalled: as the event has it. */
export type RecallRequest = DataOf<"recall.called">;
export type ForgetRequest = DataOf<"forget.called">;

export interface Host {
  readonly platform: Platform;
  add<K extends PureKind>(session: Session, kind: K, data: DataOf<K>): Session;
  fork(session: Session, label: string | undefined): Session;
  detach(session: Session): Session;
  merge(session: Session, others: readonly Session[], options: MergeOptions): Promise<Session>;
  perform(session: Session, effect: Effect): Promise<Session>;
  /** Several effects of one branch at once: calls in order, results as they come. */
  performAll(session: Session, effects: readonly Effect[]): Promise<Session>;
  /** The effect of calling a tool from code, under this host's policy. */
  call(session: Session, tool: Tool, input: unknown): Promise<Session>;
  /** Enters a workflow, calls `forward` with the session inside it, and leaves. Claims the head before it returns. */
  enter(session: Session, workflow: object, forward: (session: Session) => Promise<Session>, how?: Entering): Promise<Session>;
  /** What was stopped, and nobody waits for: before the work around it ends, it has a moment to come to its own end. */
  beside(session: Session, stopped: Promise<unknown>): void;
  /** The model behind a name or object. */
  model(like: ModelLike): Promise<Model>;
  /** Text without the secrets that must not enter the log. */
  clean(text: string): string;
  /** Where something begins at the end of a text that may become a secret when more comes. */
  unfinished(text: string): number;
  /** What a model costs, when that is known; some cost more when they read very many tokens. */
  price(model: string, input?: number): Price | undefined;
  /** How many tokens a model reads at most, when that is known. */
  contextWindow(like: ModelLike): number | undefined;
  /** What the rules say of a call; it counts as one. */
  judge(session: Session, call: { readonly tool: string; readonly input: unknown }): Judgement;
  /** The files at a place. */
  files(session: Session): Files;
  /** What a merge of these would have to decide. */
  conflicts(session: Session, others: readonly Session[]): Promise<readonly Conflict[]>;
  /** Writes files back to a directory. */
  apply(session: Session, directory: string, options: ApplyOptions): Promise<Applied>;
  /** What a crash may do to a call of a tool, where the session is placed now. */
  repeatOf(session: Session, tool: Tool): Repeat;
  /** Searches memory as an effect. */
  recall(session: Session, request: RecallRequest): Promise<Session>;
  /** Stages what is to be remembered, or forgotten, as an effect. */
  remember(session: Session, item: Remembered, owned?: Owned): Promise<Session>;
  forget(session: Session, request: ForgetRequest): Promise<Session>;
  /** Stores what verbs without effects have added. */
  save(session: Session): Promise<void>;
}

/** Whose memory is written where that is known, as when two branches wrote it: not that of whoever is at work. */
export interface Owned {
  readonly owner: string | undefined;
}

/** A place in a log with the context it is used in. */
export interface Place {
  readonly node: Node;
  readonly context: Context;
}
