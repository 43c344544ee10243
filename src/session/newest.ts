/**
 * The newest value of each name along a chain. Places of one line share what is known, so that each link costs what it adds, in time
 * and in memory; who continues an earlier place begins with a copy of what is known there.
 */
import type { Chain } from "./fold.ts";

interface Entry<V> {
  /** The length of the chain at the link that set it. */
  readonly at: number;
  readonly value: V;
}

interface Line<V> {
  tip: Chain | undefined;
  /** Oldest first. */
  readonly byName: Map<string, Entry<V>[]>;
}

/** What holds at one place: reads like a map. */
export class NewestAt<V> {
  readonly #line: Line<V>;
  readonly #at: number;

  constructor(line: Line<V>, at: number) {
    this.#line = line;
    this.#at = at;
  }

  get(name: string): V | undefined {
    return this.#in(this.#line.byName.get(name))?.value;
  }

  /** In the order in which names were first set. */
  *[Symbol.iterator](): Generator<[name: string, value: V], void> {
    for (const [name, entries] of this.#line.byName) {
      const entry = this.#in(entries);
      if (entry !== undefined) yield [name, entry.value];
    }
  }

  *values(): Generator<V, void> {
    for (const [, value] of this) yield value;
  }

  #in(entries: readonly Entry<V>[] = []): Entry<V> | undefined {
    return entries.findLast(({ at }) => at <= this.#at);
  }
}

export class Newest<V> {
  readonly #known = new WeakMap<Chain, Line<V>>();

  /** What holds at the end of a chain; `read` says what a link sets. */
  at(chain: Chain | undefined, read: (link: Chain, set: (name: string, value: V) => void) => void): NewestAt<V> {
    const fresh: Chain[] = [];
    let from = chain;
    for (; from !== undefined && !this.#known.has(from); from = from.before) fresh.push(from);
    const known = from === undefined ? undefined : this.#known.get(from);
    let line: Line<V> = known ?? { tip: undefined, byName: new Map() };
    if (fresh.length > 0 && line.tip !== from) line = copied(new NewestAt(line, from?.length ?? 0), from);
    for (const link of fresh.reverse()) {
      read(link, (name, value) => {
        const entries = line.byName.get(name);
        if (entries === undefined) line.byName.set(name, [{ at: link.length, value }]);
        else entries.push({ at: link.length, value });
      });
      line.tip = link;
      this.#known.set(link, line);
    }
    return new NewestAt(line, chain?.length ?? 0);
  }
}

function copied<V>(known: NewestAt<V>, tip: Chain | undefined): Line<V> {
  const byName = new Map<string, Entry<V>[]>();
  for (const [name, value] of known) byName.set(name, [{ at: 0, value }]);
  return { tip, byName };
}
