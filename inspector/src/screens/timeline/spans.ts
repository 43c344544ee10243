/** Stretches of time that lie apart. What overlaps, or is nearer than a distance, becomes one; adding what comes last costs little. */

export interface Span {
  readonly from: number;
  readonly to: number;
}

export class Spans {
  readonly #apart: number;
  readonly #list: Span[] = [];
  #length = 0;

  constructor(apart = 0) {
    this.#apart = apart;
  }

  get list(): readonly Span[] {
    return this.#list;
  }

  /** All of them together. */
  get length(): number {
    return this.#length;
  }

  /** The same and more; these stay as they are. */
  with(more: Iterable<Span>): Spans {
    const all = new Spans(this.#apart);
    for (const { from, to } of [...this.#list, ...more]) all.add(from, to);
    return all;
  }

  add(from: number, to: number): void {
    const list = this.#list;
    let end = list.length;
    while (end > 0 && (list[end - 1] as Span).from > to + this.#apart) end--;
    let start = end;
    let joined: Span = { from, to };
    let before = 0;
    while (start > 0) {
      const last = list[start - 1] as Span;
      if (last.to < joined.from - this.#apart) break;
      joined = { from: Math.min(joined.from, last.from), to: Math.max(joined.to, last.to) };
      before += last.to - last.from;
      start--;
    }
    list.splice(start, end - start, joined);
    this.#length += joined.to - joined.from - before;
  }
}
