/**
 * Events as rows. A turn, a model call with its result and the tool calls that follow it on its branch, is one row, and so is any
 * other effect with its result; whatever else happens is a row of its own. A row is a run of events that follow each other on one
 * branch. Rows are only ever added at the end or grow, and an event with several parents, or that begins a branch, always begins one:
 * where a row comes from is known from its first event.
 */
import type { Lineage, Trouble } from "../../lineage/lineage.ts";
import { Spans } from "../timeline/spans.ts";

/** What a row took, all its events together. */
export interface Figures {
  readonly tokens: number;
  readonly usd: number;
  readonly ms: number;
}

/** A kind in its two words, like "tool" and "called". */
interface Words {
  readonly op: string;
  readonly what: string;
  /** An agent or a workflow ends: it belongs to what was done last. */
  readonly ends: boolean;
  readonly returns: boolean;
}

const known = new Map<string, Words>();

function wordsOf(kind: string): Words {
  const found = known.get(kind);
  if (found !== undefined) return found;
  const [op = "", what = ""] = kind.split(".");
  const words = { op, what, ends: what === "left" || op === "agent", returns: what === "returned" };
  known.set(kind, words);
  return words;
}

export class Turns {
  readonly #lineage: Lineage;
  readonly #first: number[] = [];
  readonly #last: number[] = [];
  readonly #size: number[] = [];
  /** The event that says what the row is about: a result, once there is one. */
  readonly #said: number[] = [];
  readonly #op: string[] = [];
  /** Calls without a result; -1: the row takes only the ends of agents. */
  readonly #open: number[] = [];
  readonly #tokens: number[] = [];
  readonly #usd: number[] = [];
  readonly #next: number[] = [];
  readonly #troubles = new Map<number, Trouble>();
  readonly #ofEvent: number[] = [];
  readonly #newest: number[] = [];

  constructor(lineage: Lineage) {
    this.#lineage = lineage;
  }

  get count(): number {
    return this.#first.length;
  }

  /** How many events were read. */
  get read(): number {
    return this.#ofEvent.length;
  }

  /** Reads the next event. True: it begins a row. */
  add(): boolean {
    const event = this.read;
    const branch = this.#lineage.branchIndex(event);
    const row = this.#newest[branch];
    if (row !== undefined && this.#takes(row, event)) {
      this.#grow(row, event);
      return false;
    }
    if (row !== undefined) this.#next[row] = this.count;
    this.#newest[branch] = this.count;
    this.#begin(event);
    return true;
  }

  first(row: number): number {
    return this.#first[row] ?? -1;
  }

  last(row: number): number {
    return this.#last[row] ?? -1;
  }

  size(row: number): number {
    return this.#size[row] ?? 0;
  }

  said(row: number): number {
    return this.#said[row] ?? -1;
  }

  /** A model call and what came of it. */
  isTurn(row: number): boolean {
    return this.#op[row] === "model";
  }

  /** A call in it has no result yet. */
  isOpen(row: number): boolean {
    return (this.#open[row] ?? 0) > 0;
  }

  trouble(row: number): Trouble | undefined {
    return this.#troubles.get(row);
  }

  figures(row: number): Figures {
    return { tokens: this.#tokens[row] ?? 0, usd: this.#usd[row] ?? 0, ms: this.#passed(row) };
  }

  /** Time passes from calls to their results. What lies between two of them may be years: a result that a rerun reused is as old as its source. */
  #passed(row: number): number {
    const lineage = this.#lineage;
    const first = lineage.at(this.first(row));
    const spans = new Spans();
    for (const event of this.events(row)) {
      if (!wordsOf(lineage.kind(event)).returns) continue;
      const call = lineage.callBehind(event);
      const to = Math.max(first, lineage.at(event));
      // What was called in an earlier row counts from here on.
      spans.add(Math.min(to, Math.max(first, call < 0 ? first : lineage.at(call))), to);
    }
    return spans.length;
  }

  /** The row that an event is in. */
  of(event: number): number {
    return this.#ofEvent[event] ?? -1;
  }

  /** The next row on the same branch. */
  next(row: number): number | undefined {
    return this.#next[row];
  }

  /** The events of a row, in order. */
  events(row: number): readonly number[] {
    const events: number[] = [];
    const first = this.first(row);
    for (let event = this.last(row); event > first; event = this.#lineage.prior(event)) events.push(event);
    events.push(first);
    return events.reverse();
  }

  #takes(row: number, event: number): boolean {
    const lineage = this.#lineage;
    const prior = lineage.prior(event);
    const parents = lineage.parents(event);
    if (prior < 0 || parents.length !== 1 || parents[0] !== prior) return false;
    const { op, what, ends } = wordsOf(lineage.kind(event));
    const own = this.#op[row] ?? "";
    if (own === "session" && lineage.kind(this.first(row)) === "session.rejected") return false;
    if (ends) return true;
    const open = this.#open[row] ?? 0;
    if (open < 0) return false;
    if (what === "entered") return own === "workflow";
    if (op === "model") return what === "called" ? own === "workflow" : own === "model";
    // A call that follows a result is another effect; one beside it is not.
    if (op === "tool") return own === "model" || (own === "tool" && (what !== "called" || open > 0));
    return op === own && open > 0;
  }

  #begin(event: number): void {
    const { op, what, ends } = wordsOf(this.#lineage.kind(event));
    this.#first.push(event);
    this.#last.push(event);
    this.#size.push(1);
    this.#said.push(event);
    this.#op.push(op);
    this.#open.push(what === "called" ? 1 : ends ? -1 : 0);
    this.#tokens.push(0);
    this.#usd.push(0);
    this.#count(this.count - 1, event);
  }

  #grow(row: number, event: number): void {
    const { op, what, ends, returns } = wordsOf(this.#lineage.kind(event));
    this.#last[row] = event;
    this.#size[row] = this.size(row) + 1;
    const open = this.#open[row] ?? 0;
    if (ends) this.#open[row] = -1;
    else if (what === "called") this.#open[row] = open + 1;
    // A turn is about what the model answered; tools are what it led to. Of several results the first one speaks.
    const answers = returns && op === this.#op[row] && !wordsOf(this.#lineage.kind(this.said(row))).returns;
    if (op === "model" || what === "entered" || answers) this.#said[row] = event;
    if (op === "model") this.#op[row] = op;
    this.#count(row, event);
  }

  #count(row: number, event: number): void {
    this.#ofEvent.push(row);
    const trouble = this.#lineage.trouble(event);
    if (trouble !== undefined) this.#troubles.set(row, trouble);
    if (wordsOf(this.#lineage.kind(event)).returns) this.#close(event);
    const spent = this.#lineage.spent(event);
    if (spent === undefined) return;
    this.#tokens[row] = (this.#tokens[row] ?? 0) + spent.input + spent.output;
    this.#usd[row] = (this.#usd[row] ?? 0) + spent.usd;
  }

  /** A result ends its call, which may stand in an earlier row. */
  #close(event: number): void {
    let call = this.#lineage.call(event);
    while (call >= 0 && wordsOf(this.#lineage.kind(call)).what === "started") call = this.#lineage.call(call);
    const asked = this.of(call);
    if ((this.#open[asked] ?? 0) > 0) this.#open[asked] = (this.#open[asked] ?? 0) - 1;
  }
}
