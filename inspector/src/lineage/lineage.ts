/**
 * All events of a session and its branches as rows, parents first. Read once as columns, continued by what happens: rows are only ever
 * added at the end, so whatever was made of the first ones stays true.
 */
import type { EventResource, LineageIndex } from "../../../src/client/client.ts";

export type Mark = LineageIndex["marks"]["mark"][number];
export type Trouble = LineageIndex["outcomes"]["outcome"][number];

/** What a result took. */
export interface Spent {
  readonly ms: number;
  readonly input: number;
  readonly output: number;
  readonly usd: number;
}

/** What an event says of itself in clear. */
interface Told {
  readonly outcome?: string;
  readonly call?: string;
  readonly ms?: number;
  readonly usage?: Omit<Spent, "ms">;
  readonly attempts?: number;
  readonly files?: true;
}

const idLength = 64;

export class Lineage {
  /** The session that was asked about. */
  readonly session: string;
  /** How many older events were left out. */
  readonly cut: number;
  readonly #sessions: Names;
  readonly #kinds: Names;
  readonly #writers: Names;
  readonly #branch: number[];
  readonly #kind: number[];
  readonly #by: number[];
  readonly #step: number[];
  readonly #at: number[];
  /** Of each row the one before it on its branch; -1 for the first. */
  readonly #prior: number[];
  readonly #ids: string;
  readonly #moreIds: string[] = [];
  readonly #idCount: number;
  readonly #parents: Map<number, readonly number[]>;
  readonly #marks = new Map<number, Mark[]>();
  readonly #troubles: Map<number, Trouble>;
  readonly #calls: Map<number, number>;
  readonly #retried: Map<number, number>;
  readonly #spent = new Map<number, Spent>();
  readonly #lastOn = new Map<number, number>();
  #rowOf: Map<string, number> | undefined;

  constructor(index: LineageIndex) {
    this.session = index.session;
    this.cut = index.cut;
    [this.#sessions, this.#kinds, this.#writers] = [new Names(index.sessions), new Names(index.kinds), new Names(index.writers)];
    [this.#branch, this.#kind, this.#by, this.#step] = [index.branch, index.kind, index.by, index.step];
    [this.#ids, this.#idCount] = [index.id, index.count];
    let time = 0;
    this.#at = index.at.map((passed) => {
      time += passed;
      return time;
    });
    this.#prior = this.#branch.map((branch, row) => this.#follow(branch, row));
    this.#parents = new Map(index.parents.map(([row = 0, ...parents]) => [row, parents]));
    const { marks, outcomes, calls, retried, spent } = index;
    for (const [at, row] of marks.row.entries()) this.#mark(row, marks.mark[at] as Mark);
    this.#troubles = new Map(outcomes.row.map((row, at) => [row, outcomes.outcome[at] as Trouble]));
    this.#calls = new Map(calls.row.map((row, at) => [row, calls.call[at] ?? -1]));
    this.#retried = new Map(retried.row.map((row, at) => [row, retried.attempts[at] ?? 1]));
    for (const [at, row] of spent.row.entries()) {
      const [ms = 0, input = 0, output = 0, usd = 0] = [spent.ms[at], spent.input[at], spent.output[at], spent.usd[at]];
      this.#spent.set(row, { ms, input, output, usd });
    }
  }

  /** The session and its branches, in the order in which they began. */
  get sessions(): readonly string[] {
    return this.#sessions.all;
  }

  /** Whatever kinds and writers there are. */
  get kinds(): readonly string[] {
    return this.#kinds.all;
  }

  get writers(): readonly string[] {
    return this.#writers.all;
  }

  get count(): number {
    return this.#branch.length;
  }

  id(row: number): string {
    return row < this.#idCount ? this.#ids.slice(row * idLength, (row + 1) * idLength) : (this.#moreIds[row - this.#idCount] ?? "");
  }

  /** The row of an event; undefined when it is not among them. */
  rowOf(id: string): number | undefined {
    if (this.#rowOf === undefined) {
      this.#rowOf = new Map();
      for (let row = 0; row < this.count; row++) this.#rowOf.set(this.id(row), row);
    }
    return this.#rowOf.get(id);
  }

  /** The row of an event by its id, the beginning of it, or a step on a branch (and what is behind it). */
  find(at: string, branch: string): number | undefined {
    if (at.length === idLength) return this.rowOf(at);
    if (!/^\d{1,9}$/.test(at)) {
      for (let row = 0; row < this.count; row++) if (this.id(row).startsWith(at)) return row;
      return undefined;
    }
    const step = Number(at);
    for (let row = this.newestOn(branch); row !== undefined && row >= 0; row = this.parents(row)[0]) if (this.step(row) <= step) return row;
    return undefined;
  }

  branch(row: number): string {
    return this.sessions[this.#branch[row] ?? -1] ?? "";
  }

  branchIndex(row: number): number {
    return this.#branch[row] ?? -1;
  }

  kind(row: number): string {
    return this.#kinds.all[this.#kind[row] ?? -1] ?? "";
  }

  /** Who wrote it: the path of an agent or workflow, or a person. */
  by(row: number): string {
    return this.#writers.all[this.#by[row] ?? -1] ?? "";
  }

  step(row: number): number {
    return this.#step[row] ?? 0;
  }

  /** Milliseconds since 1970. */
  at(row: number): number {
    return this.#at[row] ?? 0;
  }

  /** Rows; -1 for one that was left out. */
  parents(row: number): readonly number[] {
    const explicit = this.#parents.get(row);
    if (explicit !== undefined) return explicit;
    const prior = this.#prior[row] ?? -1;
    return prior < 0 ? [] : [prior];
  }

  /** The row before it on its own branch; -1 for the first. */
  prior(row: number): number {
    return this.#prior[row] ?? -1;
  }

  /** Whether a session is the one of this lineage, or one of its branches. */
  hasBranch(branch: string): boolean {
    return this.#sessions.indexOf(branch) >= 0;
  }

  newestOn(branch: string): number | undefined {
    return this.#lastOn.get(this.#sessions.indexOf(branch));
  }

  has(row: number, mark: Mark): boolean {
    return this.#marks.get(row)?.includes(mark) === true;
  }

  /** How an effect ended, where it did not end well. */
  trouble(row: number): Trouble | undefined {
    return this.#troubles.get(row);
  }

  spent(row: number): Spent | undefined {
    return this.#spent.get(row);
  }

  /** How often an effect was tried. */
  attempts(row: number): number {
    return this.#retried.get(row) ?? 1;
  }

  /** The call that a result belongs to. */
  call(row: number): number {
    return this.#calls.get(row) ?? this.parents(row)[0] ?? -1;
  }

  /** The same past the mark that it was started; -1: it is not here. */
  callBehind(row: number): number {
    let call = this.call(row);
    while (call >= 0 && this.kind(call).endsWith(".started")) call = this.call(call);
    return call;
  }

  /** Adds an event that happened since. False: it was here already. */
  add(event: EventResource): boolean {
    if (this.rowOf(event.id) !== undefined) return false;
    const row = this.count;
    const branch = this.#sessions.place(event.session);
    const prior = this.#follow(branch, row);
    this.#branch.push(branch);
    this.#kind.push(this.#kinds.place(event.kind));
    this.#by.push(this.#writers.place(event.by));
    this.#step.push(event.step);
    this.#at.push(Date.parse(event.at));
    this.#prior.push(prior);
    this.#moreIds.push(event.id);
    this.#rowOf?.set(event.id, row);
    this.#addSparse(row, prior, event);
    return true;
  }

  #addSparse(row: number, prior: number, { kind, facts, parents, data }: EventResource): void {
    const said = (data ?? {}) as {
      nested?: true;
      implicit?: true;
      adopt?: true;
      from?: { head?: string };
      answer?: unknown;
      passed?: boolean;
    };
    const origins = kind === "session.detached" && said.from?.head !== undefined ? [said.from.head] : parents;
    const rows = origins.map((id) => this.rowOf(id) ?? -1);
    if (rows.length !== 1 || rows[0] !== prior) this.#parents.set(row, rows);
    if (data === undefined) this.#mark(row, "erased");
    if (kind === "session.forked" && said.nested === true) this.#mark(row, "nested");
    else if (kind === "session.forked" && said.implicit === true) this.#mark(row, "implicit");
    else if (kind === "session.detached") this.#mark(row, "detached");
    else if (kind === "session.merged" && said.adopt === true) this.#mark(row, "adopt");
    if ((kind === "tool.returned" || kind === "do.returned") && said.answer !== undefined) this.#mark(row, "decided");
    const { outcome, call, ms, usage, attempts = 1, files } = facts as Told;
    if (kind === "check.returned" && outcome === "ok" && data !== undefined) this.#mark(row, said.passed === true ? "passed" : "failed");
    if (files === true) this.#mark(row, "files");
    if (outcome !== undefined && outcome !== "ok") this.#troubles.set(row, outcome as Trouble);
    if (attempts > 1) this.#retried.set(row, attempts);
    if (call !== undefined) this.#calls.set(row, this.rowOf(call) ?? -1);
    if (ms !== undefined || usage !== undefined)
      this.#spent.set(row, { ms: ms ?? 0, input: usage?.input ?? 0, output: usage?.output ?? 0, usd: usage?.usd ?? 0 });
  }

  #follow(branch: number, row: number): number {
    const prior = this.#lastOn.get(branch) ?? -1;
    this.#lastOn.set(branch, row);
    return prior;
  }

  #mark(row: number, mark: Mark): void {
    this.#marks.set(row, [...(this.#marks.get(row) ?? []), mark]);
  }
}

/** Names by their places, which are looked up for every event. */
class Names {
  readonly all: string[];
  readonly #places: Map<string, number>;

  constructor(names: readonly string[]) {
    this.all = [...names];
    this.#places = new Map(this.all.map((name, at) => [name, at]));
  }

  indexOf(name: string): number {
    return this.#places.get(name) ?? -1;
  }

  /** The place of a name, at the end if it is new. */
  place(name: string): number {
    const known = this.#places.get(name);
    if (known !== undefined) return known;
    this.#places.set(name, this.all.length);
    return this.all.push(name) - 1;
  }
}
