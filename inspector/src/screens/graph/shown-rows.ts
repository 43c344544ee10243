/** One flat list of what is shown: rows, and under those that are unfolded their events. */
import type { Turns } from "./turns.ts";

/** A row, or one of its events. */
export interface Shown {
  readonly row: number;
  readonly event?: number;
}

export class ShownRows {
  readonly #turns: Turns;
  readonly #unfolded: readonly number[];
  /** How many events are shown before and under each unfolded row. */
  readonly #before: number[] = [];
  readonly #events: (readonly number[])[] = [];
  readonly count: number;

  /** `unfolded`: rows, in any order. */
  constructor(turns: Turns, unfolded: Iterable<number>) {
    this.#turns = turns;
    this.#unfolded = [...unfolded].filter((row) => turns.size(row) > 1).sort((a, b) => a - b);
    let before = 0;
    for (const row of this.#unfolded) {
      const events = turns.events(row);
      this.#before.push(before);
      this.#events.push(events);
      before += events.length;
    }
    this.count = turns.count + before;
  }

  at(index: number): Shown {
    let [low, high] = [0, this.#unfolded.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#unfolded[middle] as number) + (this.#before[middle] as number) < index) low = middle + 1;
      else high = middle;
    }
    const place = low - 1;
    const row = this.#unfolded[place];
    if (row === undefined) return { row: index };
    const [events, into] = [this.#events[place] ?? [], index - row - (this.#before[place] ?? 0) - 1];
    const event = events[into];
    return event === undefined ? { row: row + 1 + into - events.length } : { row, event };
  }

  /** Where a row, or one of its events, is; of an event that is folded away the row. */
  indexOf({ row, event }: Shown): number {
    let low = 0;
    for (let high = this.#unfolded.length; low < high; ) {
      const middle = (low + high) >> 1;
      if ((this.#unfolded[middle] as number) < row) low = middle + 1;
      else high = middle;
    }
    const previous = this.#events[low - 1]?.length ?? 0;
    const index = row + (low === 0 ? 0 : (this.#before[low - 1] ?? 0) + previous);
    if (event === undefined || this.#unfolded[low] !== row) return index;
    return index + 1 + (this.#events[low] ?? []).indexOf(event);
  }

  isUnfolded(row: number): boolean {
    return this.#turns.size(row) > 1 && this.#unfolded.includes(row);
  }
}
