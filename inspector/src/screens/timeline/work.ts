/**
 * Where time and money went: every effect of a lineage as a piece of work in the lane of who did it. Computed of columns alone, and
 * continued when rows are added.
 */
import type { Lineage } from "../../lineage/lineage.ts";
import { Spans } from "./spans.ts";

/** What time goes by with. */
export const kinds = ["model", "tool", "other", "person", "wait", "retry"] as const;
export type Kind = (typeof kinds)[number];

/** Nothing happens for so long: it is drawn as a break. */
const idleMs = 5000;
/** What begins within this was not waited for. */
const promptMs = 2;
/** So many pieces of work lie beside each other in a lane; more cover each other. */
const mostSubs = 4;

export interface Work {
  /** The result; of work without one the call. */
  readonly row: number;
  readonly call: number;
  readonly lane: number;
  /** Its place beside others of the lane that go on at the same time. */
  readonly sub: number;
  readonly kind: Kind;
  /** What the time before the work itself was, if there was any. */
  readonly before: Kind | undefined;
  /** It was asked for, it began, it ended. */
  readonly from: number;
  readonly begin: number;
  readonly to: number;
  readonly attempts: number;
  /** There is no result yet. */
  readonly open?: true;
}

/** What one agent, workflow or person did. */
export interface Lane {
  readonly by: string;
  readonly works: Work[];
  /** When each of the places beside each other is free again. */
  readonly subs: number[];
  readonly busy: Spans;
  readonly waiting: Spans;
  calls: number;
  failed: number;
  input: number;
  output: number;
  usd: number;
}

/** What was paid until a time. */
export interface Paid {
  readonly at: number;
  readonly usd: number;
  readonly tokens: number;
  readonly lane: number;
}

export class Works {
  readonly lanes: Lane[] = [];
  readonly paid: Paid[] = [];
  /** When something happened or was done: not what was waited for. */
  readonly active = new Spans(idleMs);
  readonly working = new Spans();
  readonly waitingForPeople = new Spans();
  readonly #lanes = new Map<string, number>();
  readonly #byRow = new Map<number, Work>();
  readonly #open = new Map<number, number>();
  #rows = 0;
  #order: { readonly size: number; readonly works: readonly Work[] } | undefined;
  #usd = 0;

  /** Takes in what was added since. */
  read(lineage: Lineage): this {
    for (; this.#rows < lineage.count; this.#rows++) {
      const row = this.#rows;
      const at = lineage.at(row);
      this.active.add(at, at);
      const kind = lineage.kind(row);
      if (kind.endsWith(".called")) this.#open.set(row, at);
      else if (kind.endsWith(".returned")) this.#end(lineage, row, kind);
      // What a foreign file says was spent on all of its replies.
      else if (kind === "session.imported") this.#pay(lineage, row, this.#lane(lineage.by(row)));
    }
    return this;
  }

  /** The work that an event began or ended. */
  of(row: number | undefined): Work | undefined {
    return row === undefined ? undefined : this.#byRow.get(row);
  }

  /** All works as they began. */
  inOrder(): readonly Work[] {
    const { size } = this.#byRow;
    if (this.#order?.size !== size)
      this.#order = { size, works: this.lanes.flatMap(({ works }) => works).sort((a, b) => a.from - b.from || a.row - b.row) };
    return this.#order.works;
  }

  get usd(): number {
    return this.#usd;
  }

  /** Calls without a result, as they look at a time: it is not known whether somebody still works on them. */
  open(lineage: Lineage, until: number, waits: ReadonlySet<number>): readonly Work[] {
    return [...this.#open].map(([call, from]) => {
      const isWaiting = waits.has(call);
      const kind = isWaiting ? "person" : kindOf(lineage.kind(call));
      const to = isWaiting || kind === "wait" ? until : Math.min(until, Math.max(from, this.active.list.at(-1)?.to ?? from));
      const lane = this.#lane(lineage.by(call));
      return { row: call, call, lane, sub: 0, kind, before: undefined, from, begin: from, to, attempts: 1, open: true };
    });
  }

  /** How long people were waited for, with what is still open. */
  waitedForPeople(open: readonly Work[]): number {
    return this.waitingForPeople.with(open.filter(({ kind }) => kind === "person")).length;
  }

  /** How long a lane waited for whatever it was, with what is still open in it. */
  waitedIn(lane: number, open: readonly Work[] = []): number {
    return this.lanes[lane]?.waiting.with(open.filter(({ kind }) => kind === "person" || kind === "wait")).length ?? 0;
  }

  #end(lineage: Lineage, row: number, kindName: string): void {
    const known = lineage.callBehind(row);
    const call = known < 0 ? row : known;
    this.#open.delete(call);
    const place = this.#lane(lineage.by(row));
    const lane = this.lanes[place] as Lane;
    const { from, begin, to, kind, before } = times(lineage, row, call, kindName);
    const sub = subOf(lane, from, to);
    const work: Work = { row, call, lane: place, sub, kind, before, from, begin, to, attempts: lineage.attempts(row) };
    lane.works.push(work);
    this.#byRow.set(row, work);
    this.#byRow.set(call, work);
    lane.calls++;
    if (lineage.trouble(row) !== undefined) lane.failed++;
    if (before !== undefined) this.#pass(lane, before, from, begin);
    this.#pass(lane, kind, begin, to);
    this.#pay(lineage, row, place);
  }

  /** Time went by with something. */
  #pass(lane: Lane, kind: Kind, from: number, to: number): void {
    if (kind === "person" || kind === "wait") lane.waiting.add(from, to);
    else {
      lane.busy.add(from, to);
      this.working.add(from, to);
      this.active.add(from, to);
    }
    if (kind === "person") this.waitingForPeople.add(from, to);
  }

  /** Models are paid for, and what finds memories. What was done inside of an effect is paid for where it was done: no result says it again. */
  #pay(lineage: Lineage, row: number, place: number): void {
    const spent = lineage.spent(row);
    if (spent === undefined) return;
    const lane = this.lanes[place] as Lane;
    const { input, output, usd } = spent;
    if (input === 0 && output === 0 && usd === 0) return;
    lane.input += input;
    lane.output += output;
    lane.usd += usd;
    this.#usd += usd;
    this.paid.push({ at: Math.max(this.paid.at(-1)?.at ?? 0, lineage.at(row)), usd: this.#usd, tokens: input + output, lane: place });
  }

  #lane(by: string): number {
    const known = this.#lanes.get(by);
    if (known !== undefined) return known;
    const fresh = { by, works: [], subs: [], busy: new Spans(), waiting: new Spans(), calls: 0, failed: 0, input: 0, output: 0, usd: 0 };
    const place = this.lanes.push(fresh) - 1;
    this.#lanes.set(by, place);
    return place;
  }
}

function kindOf(kindName: string): Kind {
  switch (kindName.slice(0, kindName.indexOf("."))) {
    case "model":
      return "model";
    case "tool":
      return "tool";
    case "ask":
      return "person";
    case "wait":
    case "receive":
      return "wait";
    default:
      return "other";
  }
}

function times(lineage: Lineage, row: number, call: number, kindName: string): Pick<Work, "from" | "begin" | "to" | "kind" | "before"> {
  const kind = kindOf(kindName);
  const to = lineage.at(row);
  const from = Math.min(lineage.at(call), to);
  const isDecided = lineage.has(row, "decided");
  const ms = lineage.spent(row)?.ms ?? 0;
  // Nothing was done: somebody refused it, or said what became of it.
  if (isDecided && ms === 0) return { from, begin: from, to, kind: "person", before: undefined };
  if (ms === 0 || kind === "person" || kind === "wait") return { from, begin: from, to, kind, before: undefined };
  const begin = Math.max(from, to - ms);
  const before = isDecided ? "person" : lineage.attempts(row) > 1 ? "retry" : "wait";
  return begin - from <= promptMs ? { from, begin: from, to, kind, before: undefined } : { from, begin, to, kind, before };
}

/** Results come in the order of their ends: what was placed last in a place ends last there. */
function subOf({ subs }: Lane, from: number, to: number): number {
  const free = subs.findIndex((until) => until <= from);
  const sub = free >= 0 ? free : Math.min(subs.length, mostSubs - 1);
  subs[sub] = Math.max(subs[sub] ?? 0, to);
  return sub;
}
