/**
 * The Session as its users see it: an immutable value whose verbs give the next value and whose views are folds over events.
 * The class behind it is in value.ts; what its verbs need from a runtime is in host.ts.
 */

import type { Event } from "./event.ts";
import type { Compression, MemoryHit, MemoryItem, MemoryRead, MemoryScope, RecallOptions, Remembered } from "./memory.ts";
import type { Content, Message, ModelRequest, Outcome } from "./message.ts";
import type { Acted, Applied, ApplyOptions, Change, Files, Placement, PlacementSpec, Sandbox, SandboxName } from "./placement.ts";
import type { Duration } from "./span.ts";

export type {
  Compression,
  MemoryHit,
  MemoryItem,
  MemoryOrigin,
  MemoryRead,
  MemoryScope,
  Publish,
  RecallOptions,
  Remembered,
  Trust,
} from "./memory.ts";
export type { Content, Message, MessagePart, ModelRequest, Outcome, Part } from "./message.ts";
export type {
  Acted,
  Applied,
  ApplyOptions,
  Change,
  CommandRecord,
  CommandResult,
  ExecOptions,
  Files,
  Isolation,
  Network,
  Placement,
  PlacementSpec,
  Sandbox,
  SandboxEntry,
  SandboxLimits,
  SandboxName,
  SandboxProcess,
  SandboxRecord,
} from "./placement.ts";
export type { Duration } from "./span.ts";

/**
 * Immutable. `Output` is what the newest agent, effect or question produced. Verbs give the next value and leave this one
 * as it is; a value used twice is a fork.
 *
 * @example
 * const asked = await rath.session("Fix the test").do("read the log", () => readLog(), { repeat: "safe" });
 * const [a, b] = await Promise.all(["small", "thorough"].map((label) => asked.fork(label).do(label, () => attempt(label))));
 */
export interface Session<out Output = unknown> {
  /** The branch: the same for every value of it. */
  readonly id: string;
  /** The newest event of this value. */
  readonly head: string;
  /** The place of the head in its branch: what `at(step)` takes. */
  readonly step: number;

  /** What the newest agent or effect produced. Throws `session.no-output` when there is none, with the reason an agent stopped for. */
  readonly output: Output;
  /** The newest output, when it is text, else "". Of an agent that did not finish: what it had said. Never throws. */
  readonly text: string;
  /** The conversation, oldest first; after a merge the shared part once, then each branch's own. */
  readonly messages: readonly Message[];
  /** Why the newest agent stopped; only "finished" leaves an output. Agents do not throw for the rest: look here first. */
  readonly stop: StopReason | undefined;
  /** Where the branch stands: whether it waits, failed, or was cancelled or rejected. */
  readonly status: SessionStatus;
  /** The exact sum over distinct ancestors; `own` is this branch alone. */
  readonly usage: Usage;
  /** Where tools are to act: what `to` recorded. */
  readonly placement: Placement | undefined;
  /** Where it comes from. */
  readonly lineage: Lineage;
  /** Calls without a result: questions, approvals, timers, effects with an unknown outcome. */
  readonly pending: readonly Pending[];
  /** Calls of tools with their outcomes, oldest first. */
  readonly calls: readonly ToolCall[];
  /** Verdicts, oldest first. */
  readonly checks: readonly Check[];
  /** What selectors chose, oldest first. */
  readonly routes: readonly Route[];
  /** What was recalled and remembered, oldest first. Writes are as they were staged: `rath.memory` says what became of them. */
  readonly memory: { readonly reads: readonly MemoryRead[]; readonly writes: readonly MemoryItem[] };
  /** What made models read less than was said, oldest first. Nothing of it is gone: `messages` and `at` have it all. */
  readonly compressions: readonly Compression[];
  /** The files as they were recorded here. Empty before the workspace was first used. */
  readonly files: Files;
  /** Every ancestor once, parents before children, nested and merged work included; `from` and `to` are steps, both included. */
  events(range?: { readonly from?: number | undefined; readonly to?: number | undefined }): Iterable<Event>;
  /** The value at a step of the first-parent line, or at an event's id anywhere among the ancestors. */
  at(place: number | string): Session;

  /** Adds a message of the user. */
  say(content: Content): Session;
  /** Adds a remark that no model reads. */
  note(text: string): Session<Output>;
  /** Records where tools are to act. Nothing opens before a tool needs it. */
  to(sandbox: SandboxName, spec?: PlacementSpec): Session<Output>;
  /** A branch of its own that begins here. Constant time; the source is never touched. */
  fork(label?: string): Session<Output>;
  /** A new lineage root with this conversation and these files; usage starts from zero, the origin is recorded. */
  detach(): Session<Output>;
  /** Records that this branch is not wanted, and why. It stays in the graph. */
  reject(reason: string): Session<Output>;
  /** Records a pointer to something that stays in another system. */
  link(record: {
    readonly system: string;
    readonly id: string;
    readonly uri?: string | undefined;
    readonly digest?: string | undefined;
  }): Session<Output>;

  /**
   * Runs `run` once and records what it returned; on resume and replay the recorded result is taken.
   * `repeat` says what a crash may do: `once` (default) is never run again by itself, `keyed` may be with the same
   * `context.key`, `safe` may be, `nested` is entered again because its inner effects are recorded too.
   * `input` names what it depends on, so that `rerun` can reuse it.
   */
  do<T>(
    name: string,
    run: (context: EffectContext) => T | Promise<T>,
    options?: { readonly repeat?: Repeat | undefined; readonly input?: unknown },
  ): Promise<Session<Stored<T>>>;
  /** Calls a tool from code, recorded as when a model calls it. Rejects unless it went well. */
  call<Input, T>(tool: Tool<Input, T>, input: Input): Promise<Session<T>>;
  /** Asks a person and gives the answer; `rath.decide` answers, in this process or another. */
  ask(
    question: string,
    answer?: undefined,
    options?: { readonly to?: string | undefined; readonly expires?: Duration | undefined },
  ): Promise<Session<string>>;
  ask<S extends Schema>(
    question: string,
    answer: S,
    options?: { readonly to?: string | undefined; readonly expires?: Duration | undefined },
  ): Promise<Session<Infer<S>>>;
  /**
   * Waits for the next signal of this name that `rath.send` sent to the run and that no other `receive` of the run has taken, and
   * gives its data. Signals sent before anybody asks are kept; each goes to exactly one `receive`, in the order of the calls. Data
   * that does not fit the schema rejects with `effect.failed`, and the signal is taken all the same. Only for workflows started
   * with `rath.run`: nobody can send to any other.
   *
   * @example
   * const paid = await session.receive("paid", z.object({ amount: z.number() }), { expires: "7d" });
   * console.log(paid.output.amount);
   */
  receive(signal: string, schema?: undefined, options?: { readonly expires?: Duration | undefined }): Promise<Session>;
  receive<S extends Schema>(signal: string, schema: S, options?: { readonly expires?: Duration | undefined }): Promise<Session<Infer<S>>>;
  /** Judges the session and records the verdict. A check that throws has failed; it does not reject. */
  check(name: string, run: (context: EffectContext) => CheckResult | Promise<CheckResult>): Promise<Session<Output>>;
  /**
   * Searches memory: by a query, by key, or all of a scope. What was found, with scores and the revision that was read, is on
   * record; nothing is found that matches nothing. Items staged on this branch are found too.
   *
   * @example
   * const recalled = await session.recall("how are tests run here?", { scope: "project", limit: 3 });
   * for (const hit of recalled.output) console.log(hit.score, hit.trust, hit.content);
   */
  recall(query: string | { readonly key?: string | undefined }, options?: RecallOptions): Promise<Session<readonly MemoryHit[]>>;
  /**
   * Stages a memory: this branch and its descendants see it at once, everybody when the run returns. A rejected branch leaves
   * nothing behind. The runtime stamps where it comes from and whether that can be trusted.
   *
   * @example
   * await session.remember({ key: "test-command", content: "npm test -- --run", because: session.calls.slice(-1).map(({ id }) => id) });
   */
  remember(item: Remembered): Promise<Session<Output>>;
  /** Stages the end of a memory: its versions stay on record. */
  forget(key: string, reason: string, options?: { readonly scope?: MemoryScope | undefined }): Promise<Session<Output>>;
  /** Goes on at a time, or so long after this call. */
  wait(time: Duration | Date): Promise<Session<Output>>;
  /** Joins other branches into this one at their common ancestor. Rejects with `merge.conflict` or `merge.refused` and changes nothing then. */
  merge(others: Session | readonly Session[], options?: MergeOptions): Promise<Session<Output>>;

  /** What exactly the newest model call up to this place read, rebuilt from the log and checked against its digest. */
  request(): Promise<ModelRequest>;
  /** What `merge` would have to decide: files and memories that both sides changed differently. */
  conflicts(others: Session | readonly Session[]): Promise<readonly Conflict[]>;
  /**
   * Writes to a directory what this session changed since it took its files from there, and gives the list. Nothing is written
   * when a file to be written has changed there meanwhile: rejects with `workspace.changed`, which names them. What is in a `.git`
   * is never written; `leftOut` of the list has it.
   */
  apply(directory: string, options?: ApplyOptions): Promise<Applied>;

  /** The time of the head: the same head gives the same answer. */
  now(): Date;
  /** In [0, 1), the same for the same head and label. */
  random(label?: string): number;
  /** An id, the same for the same head and label. */
  uuid(label?: string): string;
  /** For people: the newest events, one a line. */
  toString(): string;
  /** Only names it: `rath.open(id)` gives it back. */
  toJSON(): { readonly id: string; readonly head: string; readonly step: number };
}

/** What a session is doing: nothing, waiting for something open, or how its newest effect or judgement left it. */
export type SessionStatus = "idle" | "waiting" | "failed" | "cancelled" | "rejected";
/** Where a durable run stands. */
export type RunStatus = "queued" | "running" | "waiting" | "done" | "failed" | "cancelled";
/** Why an agent stopped. */
export type StopReason = "finished" | "length" | "refused" | "rounds" | "budget" | "invalid" | "cancelled" | "error";
/** Tokens and money, cached and reasoning tokens apart. */
export interface Usage {
  /** Everything that was read: uncached, cached and cache-write tokens together. */
  readonly input: number;
  /** Everything that was written, reasoning included. */
  readonly output: number;
  readonly cached: number;
  readonly cacheWrite: number;
  readonly reasoning: number;
  /** At the price that was recorded with each call; 0 for models without a known one. */
  readonly usd: number;
  /** Of this branch alone, without what it inherited. */
  readonly own: Omit<Usage, "own">;
}
/** Sums of tokens and money. */
export type Totals = Omit<Usage, "own">;
/** Where a session comes from. */
export interface Lineage {
  readonly kind: "root" | "fork" | "detach" | "merge" | "import";
  /** Event ids: where it forked, what it was detached from, or the parents of its newest merge. */
  readonly parents: readonly string[];
  readonly label: string | undefined;
  readonly implicit: boolean;
}
/** A verdict on record. */
export interface Check {
  readonly name: string;
  readonly passed: boolean;
  readonly score: number | undefined;
  readonly reason: string | undefined;
  /** Where it looked, when it did in a sandbox: commands with their output, the tree it judged. */
  readonly acted?: Acted | undefined;
  readonly event: string;
}
/** What a check may return. */
export type CheckResult = boolean | { readonly passed: boolean; readonly score?: number; readonly reason?: string };
/** A call of a tool and what it came to. */
export interface ToolCall {
  /** The call: `session.at(id)` is what it was made from, and `rath.decision(id)` who let it happen. */
  readonly id: string;
  /** Its result: `session.at(event)` is what it left. */
  readonly event: string;
  readonly tool: string;
  /** What it ran with; what is no JSON as the model wrote it. */
  readonly input: unknown;
  /** What was asked for, where a person approved another input. */
  readonly asked?: unknown;
  readonly outcome: Outcome;
  /** What went wrong in the attempts before the last one, where there were several. */
  readonly failures?: readonly { readonly message: string }[];
  /** The files it changed. */
  readonly changes: readonly Change[];
  /** The sandbox it acted in: its id, or its kind when only files were read or written. */
  readonly sandbox: string | undefined;
  /** Everything else about where it acted: isolation, commands with their output, the trees before and after. */
  readonly acted?: Acted | undefined;
  /** The session in which nested work was done, when there was any. */
  readonly session: string | undefined;
  readonly by: string;
  readonly step: number;
}
/** A choice that a selector made. */
export interface Route {
  readonly choice: string;
  readonly candidates: readonly string[];
  readonly reason: string;
  /** What else it named: what the receiver reads, its memory, its placement, and the check that must pass on what it returns. */
  readonly context?: string | undefined;
  readonly memory?: MemoryScope | undefined;
  readonly placement?: ({ readonly sandbox: string } & PlacementSpec) | undefined;
  readonly check?: string | undefined;
  readonly event: string;
}
/** Something two branches changed differently. */
export type Conflict =
  | {
      readonly kind: "file";
      readonly path: string;
      /** Hashes of contents; absent where there is none. */
      readonly base?: string;
      readonly ours?: string;
      readonly theirs?: string;
      /** Why it could not be merged: `content`, `binary`, `mode`, `type`, `delete-edit` and the like. */
      readonly problem?: string;
    }
  | {
      readonly kind: "memory";
      readonly key: string;
      readonly uri?: string;
      /** Contents; absent where it was forgotten or not there. */
      readonly base?: string;
      readonly ours?: string;
      readonly theirs?: string;
    };
/** How a merge settles conflicts, what the model reads of it, and why it was made. */
export interface MergeOptions {
  /**
   * What holds of each file and each memory that both sides changed differently; without it the merge is refused with
   * `merge.conflict`. What is in conflict is the path, so `"ours"` and `"theirs"` keep that side's whole file, also the lines in it
   * that only the other side changed; `{ content }` says exactly what is meant. `"ask"` asks a person; a workflow is asked for all.
   */
  readonly conflicts?:
    | "ours"
    | "theirs"
    | "ask"
    | { forward(session: Session): Promise<Session> }
    | ((conflict: Conflict) => "ours" | "theirs" | { readonly content: string })
    | undefined;
  /** What the model reads of the other branches: their answers (default), all they said, or what a function makes of them. Recorded. */
  readonly context?: "answers" | "all" | ((branches: readonly Session[]) => Content) | undefined;
  readonly reason?: string | undefined;
}
/** What may be spent; `rounds` are model calls of one agent. */
export interface Limits {
  /** Model calls of one agent; choices of a Selector. */
  readonly rounds?: number | undefined;
  /** Input and output together. */
  readonly tokens?: number | undefined;
  /** US dollars. A model without a known price is refused where this is set. */
  readonly usd?: number | undefined;
  /** From the moment the work was entered. */
  readonly time?: Duration | undefined;
}
/** What may happen to an effect after a crash: see `Session.do`. */
export type Repeat = "safe" | "keyed" | "once" | "nested";
/** What comes back from the log: JSON in, JSON out. A Date, Map or function becomes `never`, so the mistake shows where it is read. */
export type Stored<T> = unknown extends T
  ? unknown
  : // biome-ignore lint/suspicious/noConfusingVoidType: what a function without a result returns
    T extends string | number | boolean | null | undefined | void | Uint8Array
    ? T
    : T extends Date | Map<unknown, unknown> | Set<unknown> | bigint | symbol | ((...args: never[]) => unknown)
      ? never
      : T extends object
        ? { readonly [K in keyof T]: Stored<T[K]> }
        : never;

/** What the code of an effect is given. */
export interface EffectContext {
  /** A child of the branch, forked at the call: inner effects go here. */
  readonly session: Session;
  /** Where the session is placed: its files and commands. Nothing opens before it is used. */
  readonly sandbox: Sandbox;
  /** Aborted when the work is cancelled or its time is up. */
  readonly signal: AbortSignal;
  /** The id of the call: the idempotency key of a `keyed` effect, the same on every attempt. */
  readonly key: string;
  /** What `openrath({ deps })` was given. */
  readonly deps: object;
}

/** What everything pending has in common. */
export interface PendingBase {
  /** The id of the event that asked: give it to `rath.decide`. */
  readonly id: string;
  readonly run: string | undefined;
  readonly session: string;
  readonly since: string;
  readonly by: string;
}
/** Something that waits for a person, a timer or a signal. */
export type Pending =
  | (PendingBase & {
      readonly kind: "question";
      readonly question: string;
      readonly answer: object;
      /** Who is asked, like "role:approver" or "human:ada". A server lets nobody else answer; `rath.decide` leaves it to the program. */
      readonly to?: string;
      readonly expires?: string;
    })
  | (PendingBase & { readonly kind: "approval"; readonly tool: string; readonly input: unknown; readonly expires?: string })
  | (PendingBase & { readonly kind: "unknown"; readonly op: string; readonly input: unknown })
  | (PendingBase & { readonly kind: "timer"; readonly wakes: string })
  | (PendingBase & { readonly kind: "signal"; readonly signal: string; readonly expires?: string })
  | (PendingBase & { readonly kind: "process"; readonly process: string; readonly command: string });
/** What a person says about something pending, and who says it. */
export type Decision = { readonly by: string; readonly reason?: string | undefined } & (
  | { readonly answer: unknown }
  | { readonly approve: boolean; readonly input?: unknown }
  | { readonly outcome: Exclude<Outcome, { readonly type: "unknown" }> | "run-again" }
);

/** What was decided about something that waits or waited: who said what, when and why. Nobody has decided where there is no `by`. */
export interface Decided {
  /** As it was asked. */
  readonly pending: Pending;
  /** The event that holds the decision; results name it as `answer`. */
  readonly id?: string;
  readonly by?: string;
  readonly at?: string;
  readonly reason?: string;
  readonly answer?: unknown;
  readonly approve?: boolean;
  /** What was approved, where that is not what was asked. */
  readonly input?: unknown;
  readonly outcome?: unknown;
  /** Nobody answered in time. */
  readonly expired?: true;
}

/** Something a model or a program can call. Made by `tool()`, `workflow.asTool()` or an MCP server. */
// biome-ignore lint/suspicious/noExplicitAny: a list of tools has tools of every input type, the one place for `any`
export interface Tool<in Input = any, out Output = unknown> {
  readonly name: string;
  readonly description: string;
  readonly repeat: Repeat;
  readonly "~run": (input: Input, context: ToolContext) => Promise<Output>;
  readonly "~tool": ToolDeclaration;
}
/** What a tool declares beside its code; the runtime reads it. */
export interface ToolDeclaration {
  /** JSON Schema of the input, as models see it. */
  readonly schema: object;
  /** Digest of name, description and schema. */
  readonly revision: string;
  readonly writes: "nothing" | "files" | "world";
  /** It writes files alone and says nothing of `repeat`: "safe" where the files can be restored and nothing else is reached, else "once". */
  readonly repeatByPlacement?: true | undefined;
  /** Takes an input or says what is wrong with it. */
  readonly validate: (input: unknown) => Validated | Promise<Validated>;
  readonly resource?: ((input: never) => string) | undefined;
  readonly needsApproval?: ((input: never) => boolean) | undefined;
  /** How long a person has to say yes. */
  readonly approvalExpires?: Duration | undefined;
  readonly timeoutMs?: number | undefined;
  readonly attempts?: number | undefined;
  readonly probe?: ((key: string, context: EffectContext) => Promise<Probed | undefined>) | undefined;
  /** Its result brings no text from outside but what the work inside it read. */
  readonly trustsInner?: true | undefined;
  /** The workflow that does its work. */
  readonly workflow?: object | undefined;
  /** Where it comes from, when that is a server whose list of tools may change. */
  readonly source?: ToolSource | undefined;
}
/** An input that fits, or problems a model can act on. */
export type Validated = { readonly value: unknown } | { readonly problems: readonly string[] };
/** What became of a call that was started and has no result. */
export type Probed = { readonly happened: false } | { readonly happened: true; readonly output: unknown };
/** A server of tools. What it offers is recorded when an agent uses it, and taken from the record afterwards. */
export interface ToolSource {
  readonly name: string;
  /** What is recorded: the server's name and version, a digest of its list, and the tools themselves. */
  describe(): Promise<{
    readonly server: string;
    readonly version: string;
    readonly digest: string;
    readonly tools: readonly { readonly name: string; readonly description: string; readonly input: object }[];
  }>;
}
/** What the code of a tool is given. */
export interface ToolContext extends EffectContext {
  progress(update: string | { readonly done: number; readonly of: number }): void;
}
/** zod, valibot, arktype (a Standard Schema that can also give JSON Schema), or a JSON Schema object. */
export type Schema = StandardSchema | { readonly type: "object"; readonly properties?: object; readonly "~standard"?: never };
/** Any schema that follows the Standard Schema convention. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => unknown;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}
/** What a schema gives. */
export type Infer<S> = S extends { readonly "~standard": { readonly types?: infer T } }
  ? NonNullable<T> extends { readonly output: infer O }
    ? O
    : unknown
  : unknown;
/** What a caller may leave out (defaults) differs from what `run` receives. */
export type InferInput<S> = S extends { readonly "~standard": { readonly types?: infer T } }
  ? NonNullable<T> extends { readonly input: infer I }
    ? I
    : unknown
  : unknown;
