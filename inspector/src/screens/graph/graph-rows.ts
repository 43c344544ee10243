/** What the graph draws: rows, the lanes they stand in, whose each lane is, and what each branch took. Read once, then continued. */
import { type LaneRow, Lanes } from "../../../../src/wire/lanes.ts";
import type { Lineage } from "../../lineage/lineage.ts";
import { Turns } from "./turns.ts";

/** What is known of a branch from the index alone. */
export interface BranchFigures {
  readonly branch: number;
  readonly session: string;
  readonly firstRow: number;
  lastRow: number;
  events: number;
  tokens: number;
  usd: number;
  ms: number;
  rejected: boolean;
  readonly nested: boolean;
}

/** A branch that is drawn in a lane from a row on. */
interface Holding {
  readonly row: number;
  readonly branch: number;
}

export class GraphRows {
  readonly lineage: Lineage;
  readonly turns: Turns;
  readonly #lanes = new Lanes();
  readonly #rows: LaneRow[] = [];
  readonly #holders: Holding[][] = [];
  readonly branches: BranchFigures[] = [];
  /** Of the last row of a branch the row that took it in. */
  readonly #joined = new Map<number, number>();
  /** How many lanes were ever in use. */
  width = 0;
  /** How many branches were rejected: lines change their look with it. */
  rejections = 0;

  constructor(lineage: Lineage) {
    this.lineage = lineage;
    this.turns = new Turns(lineage);
    this.update();
  }

  get count(): number {
    return this.turns.count;
  }

  /** Reads what was added to the lineage. */
  update(): void {
    for (let event = this.turns.read; event < this.lineage.count; event++) {
      if (this.turns.add()) this.#begin(event);
      this.#count(event);
    }
  }

  lanes(row: number): LaneRow {
    const found = this.#rows[row];
    if (found === undefined) throw new RangeError(`There is no row ${row}.`);
    return found;
  }

  /** The branch that is drawn in a lane at a row. */
  holder(lane: number, row: number): BranchFigures | undefined {
    const holders = this.#holders[lane] ?? [];
    let [low, high] = [0, holders.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((holders[middle] as Holding).row <= row) low = middle + 1;
      else high = middle;
    }
    return this.branches[holders[low - 1]?.branch ?? -1];
  }

  branchOf(row: number): BranchFigures | undefined {
    return this.branches[this.lineage.branchIndex(this.turns.first(row))];
  }

  /** The row that a row follows; -1: none, or it was left out. */
  parent(row: number): number {
    return this.turns.of(this.lineage.parents(this.turns.first(row))[0] ?? -1);
  }

  /** The step that a new branch comes from, where no line can lead to it: the branch it comes from is not drawn any more. */
  source(row: number): number | undefined {
    const parent = this.lineage.parents(this.turns.first(row))[0] ?? -1;
    const { begins, links } = this.lanes(row);
    return begins && parent >= 0 && links[0]?.lane === undefined ? this.lineage.step(parent) : undefined;
  }

  /** The row after it on its branch, or where its branch was taken in. */
  next(row: number): number | undefined {
    return this.turns.next(row) ?? this.#joined.get(row);
  }

  #begin(event: number): void {
    const { lineage, turns } = this;
    const row = turns.count - 1;
    const parents = lineage.parents(event);
    const lanes = this.#lanes.add({
      id: String(event),
      session: lineage.branch(event),
      parents: parents.flatMap((parent) => (parent < 0 ? [] : [this.#nameOf(parent)])),
      kind: lineage.kind(event),
      data: this.#dataOf(event),
    });
    this.#rows.push(lanes);
    if (lanes.begins) {
      this.#holders[lanes.lane] ??= [];
      this.#holders[lanes.lane]?.push({ row, branch: lineage.branchIndex(event) });
    }
    this.width = Math.max(this.width, lanes.lane + 1);
    if (parents.length > 1 || lanes.mark === "adopt")
      for (const parent of parents) if (lineage.branchIndex(parent) !== lineage.branchIndex(event)) this.#joined.set(turns.of(parent), row);
  }

  /** Lanes know rows by their first events. An event in the middle of the newest row of its branch is not the tip of it. */
  #nameOf(event: number): string {
    const { lineage, turns } = this;
    const row = turns.of(event);
    const name = String(turns.first(row));
    if (event === turns.last(row) || turns.next(row) !== undefined) return name;
    const session = lineage.branch(event);
    this.#lanes.join({ id: String(event), session });
    this.#lanes.join({ id: name, session });
    return String(event);
  }

  #dataOf(event: number): unknown {
    const { lineage } = this;
    switch (lineage.kind(event)) {
      case "session.forked":
        return { nested: lineage.has(event, "nested"), implicit: lineage.has(event, "implicit") };
      case "session.merged":
        return { adopt: lineage.has(event, "adopt") };
      case "session.detached":
        return { from: { head: this.#nameOf(lineage.parents(event)[0] ?? -1) } };
      default:
        return undefined;
    }
  }

  #count(event: number): void {
    const { lineage, turns } = this;
    const [branch, row] = [lineage.branchIndex(event), turns.of(event)];
    const figures = this.branches[branch] ?? {
      ...{ branch, session: lineage.branch(event), firstRow: row, lastRow: row, nested: lineage.has(event, "nested") },
      ...{ events: 0, tokens: 0, usd: 0, ms: 0, rejected: false },
    };
    this.branches[branch] = figures;
    figures.lastRow = row;
    figures.events++;
    const rejected = lineage.kind(event) === "session.rejected";
    if (rejected !== figures.rejected) this.rejections++;
    figures.rejected = rejected;
    const spent = lineage.spent(event);
    if (spent === undefined) return;
    figures.tokens += spent.input + spent.output;
    figures.usd += spent.usd;
    figures.ms += spent.ms;
  }
}
