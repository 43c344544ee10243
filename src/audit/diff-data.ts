/** What a diff says, as plain data: frozen, and complete as JSON. `a` and `b` are always the two sides in the order they were given. */
import type { Event, EventKind } from "../session/event.ts";
import type { Change, Check, Message, Outcome, Route, SessionStatus, StopReason, Totals, Usage } from "../session/session.ts";

/** The same thing on both sides, and it differs; or something on one side alone. */
export interface Differing<T> {
  readonly a: T | undefined;
  readonly b: T | undefined;
}
/** Something that both sides have. */
export interface Both<T> {
  readonly a: T;
  readonly b: T;
}

/** A place that takes part: one of the two, or a common ancestor. */
export interface DiffPlace {
  readonly session: string;
  readonly event: string;
  readonly step: number;
}

/** An event after the common ancestor. */
export interface DiffEvent {
  readonly id: string;
  readonly session: string;
  readonly step: number;
  readonly kind: EventKind;
  readonly at: string;
  readonly by: string;
  /** In one line, at most a few hundred characters. */
  readonly line: string;
  /** The call that it was done inside of, where it is nested work. */
  readonly inside?: string | undefined;
  /** The event whose result it took again, where a rerun reused it. */
  readonly source?: string | undefined;
}

/** One row of the aligned events: the same on both sides, the same thing with another content, or on one side alone. */
export interface DiffStep extends Differing<DiffEvent> {
  readonly relation: "same" | "changed" | "only";
}

/** A message that differs. */
export interface DiffMessage extends Differing<Message> {
  /** What leads from the text of `a` to that of `b`, line by line; absent where only one side has it, or each is one line. */
  readonly patch?: string | undefined;
}

/** A file that differs: what leads from `a` to `b`. */
export interface DiffFile extends Change {
  /** As git writes it; absent where the patch of all files would be too long. */
  readonly patch?: string | undefined;
  /** Lines added and removed; absent where there are none to count. */
  readonly lines?: { readonly added: number; readonly removed: number } | undefined;
}

/** A version of a memory, as one side read or wrote it last. */
export interface DiffItem {
  readonly version: number;
  readonly content: string;
  /** It was forgotten. */
  readonly forgotten: boolean;
  /** The result that read or wrote it. */
  readonly event: string;
}
/** A memory of which the two sides read or wrote different versions or contents. */
export interface DiffMemory extends Differing<DiffItem> {
  readonly what: "read" | "write";
  readonly uri: string;
}

/** A call of a tool or of the program's own code. */
export interface DiffCall {
  /** The result, or the call while it has none. */
  readonly event: string;
  readonly op: "tool" | "do";
  readonly name: string;
  readonly input: unknown;
  /** Undefined while it has none. */
  readonly outcome: Outcome | undefined;
  readonly by: string;
  readonly step: number;
  /** How long it took; of a result that was reused, nothing. */
  readonly ms: number;
  /** The files it changed. */
  readonly changes: readonly Change[];
  /** The call that it was done inside of, where it is nested work. */
  readonly inside?: string | undefined;
}

/** What an agent was last asked with. */
export interface DiffAgent {
  readonly by: string;
  readonly model: string;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly instructions: string;
  /** The tools it was offered. */
  readonly tools: readonly { readonly name: string; readonly description: string; readonly input: object }[];
  /** JSON Schema of its answer, when that must be structured. */
  readonly output?: object | undefined;
}

/** The calls of a model. */
export interface DiffModel {
  readonly model: string;
  readonly calls: number;
  /** Of these, answered from the record of another run. */
  readonly reused: number;
  readonly usage: Totals;
}

/** What a person or another program said: an answer, a decision about a call, a signal. */
export interface DiffAnswer {
  readonly kind: "question" | "approval" | "signal";
  /** What was asked; of an approval the tool, of a signal its name. */
  readonly question: string;
  readonly outcome: Outcome;
  /** The input a person approved, where it is another one than was asked for. */
  readonly input?: unknown;
  readonly event: string;
}

/** What one side spent after the common ancestor. Results that were reused cost nothing here. */
export interface DiffSpent {
  readonly events: number;
  /** Results of effects, and how many of them did not go well. */
  readonly calls: number;
  readonly failed: number;
  readonly usage: Totals;
  /** Of all effects together; what runs at the same time counts twice. */
  readonly effectMs: number;
  /** From the first call to the newest event. */
  readonly wallMs: number;
}

/** How much of one side is the record of the other, used again. */
export interface DiffReuse {
  /** Results taken, of how many the other side has. */
  readonly results: number;
  readonly of: number;
  /** What they had cost. */
  readonly saved: Totals;
}

/**
 * What differs between two sessions, or two places in one.
 *
 * @example
 * const { first, files, checks, spent } = await diff(session.at(4), session);
 * console.log(first.b?.kind, files.map(({ path }) => path), spent.b.usage.usd - spent.a.usage.usd);
 */
export interface Diff {
  readonly a: DiffPlace;
  readonly b: DiffPlace;
  /** The same happened on both sides: they differ in nothing but the branches it happened on. */
  readonly identical: boolean;
  /** The nearest common ancestor; the newest of them where there are several. Undefined for unrelated sessions. */
  readonly ancestor: string | undefined;
  /** More than one where the branches were merged crosswise. */
  readonly ancestors: readonly DiffPlace[];
  /** Only by way of a `detach` do they have a common ancestor: usage begins anew there. */
  readonly detached: boolean;
  /** Where they first part: the first event of each side that the other does not have there; undefined on a side that has nothing there. */
  readonly first: Differing<Event>;
  /** Every event that is no ancestor of both, each once, in the order of both sides; work inside a call stands before its result. */
  readonly events: readonly DiffStep[];
  readonly messages: readonly DiffMessage[];
  readonly files: readonly DiffFile[];
  readonly memory: readonly DiffMemory[];
  readonly calls: readonly Differing<DiffCall>[];
  /** Agents that both sides asked with other instructions, tools, models or settings. */
  readonly agents: readonly Both<DiffAgent>[];
  readonly models: readonly Differing<DiffModel>[];
  readonly routes: readonly Differing<Route>[];
  readonly checks: readonly Differing<Check>[];
  readonly answers: readonly Differing<DiffAnswer>[];
  /** Who did the same under another name. */
  readonly renamed: readonly Both<string>[];
  /** Of a rerun: what it took from the record of the other side. */
  readonly reused: Differing<DiffReuse>;
  readonly usage: Both<Usage>;
  readonly spent: Both<DiffSpent>;
  readonly status: Both<SessionStatus>;
  readonly stop: Differing<StopReason>;
  /** The newest answers. */
  readonly text: Both<string>;
  /** For people: a summary, then what differs. */
  toString(): string;
  /** For people: one page of HTML that loads nothing and runs nothing. */
  toHtml(): string;
}
