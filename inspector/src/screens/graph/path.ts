/** The way from a row back to the first one, as far as somebody looks. */
import type { GraphRows } from "./graph-rows.ts";

/** What of a way is drawn in one row: it passes in a lane, or comes to the row's own event from a lane and perhaps goes on. */
export type PathPiece = `pass ${number}` | `at ${number | "-"} ${"on" | "end"}`;

export class Path {
  readonly #rows: GraphRows;
  /** From the start backwards. */
  readonly #chain: number[];

  constructor(rows: GraphRows, start: number) {
    this.#rows = rows;
    this.#chain = [start];
  }

  get start(): number {
    return this.#chain[0] ?? -1;
  }

  has(row: number): boolean {
    return this.#chain[this.#find(row)] === row;
  }

  /** All of it, nearest first. */
  all(): readonly number[] {
    this.#find(0);
    return this.#chain;
  }

  /** What is drawn of it in a row; undefined where it does not come by. */
  through(row: number): PathPiece | undefined {
    if (row > this.start || row < 0) return undefined;
    const place = this.#find(row);
    const found = this.#chain[place];
    if (found === row) return `at ${this.#comesIn(row) ?? "-"} ${place === 0 ? "end" : "on"}`;
    const lane = place === 0 || found === undefined ? undefined : this.#comesIn(this.#chain[place - 1] as number);
    return lane === undefined ? undefined : `pass ${lane}`;
  }

  /** The lane in which the way comes down to a row. */
  #comesIn(row: number): number | undefined {
    return this.#rows.lanes(row).links[0]?.lane;
  }

  /** The place of the first row on the way that is not below this one; the way is followed only so far. */
  #find(row: number): number {
    const chain = this.#chain;
    for (let last = chain.at(-1) ?? -1; last > row; ) {
      last = this.#rows.parent(last);
      if (last < 0) break;
      chain.push(last);
    }
    let [low, high] = [0, chain.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((chain[middle] as number) > row) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
