import { describe, expect, test } from "vitest";
import type { Chain } from "./fold.ts";
import { Newest } from "./newest.ts";

interface Set {
  readonly name: string;
  readonly value: number;
}

/** A chain whose links stand for nothing but what they set. */
function link(sets: WeakMap<Chain, Set>, before: Chain | undefined, name: string, value: number): Chain {
  const made = { node: undefined as never, before, length: (before?.length ?? 0) + 1 };
  sets.set(made, { name, value });
  return made;
}

/** Names and values as a plain map has them. */
function naive(sets: WeakMap<Chain, Set>, chain: Chain | undefined): readonly (readonly [string, number])[] {
  const line: Set[] = [];
  for (let at = chain; at !== undefined; at = at.before) line.unshift(sets.get(at) as Set);
  const map = new Map<string, number>();
  for (const { name, value } of line) map.set(name, value);
  return [...map];
}

describe("the newest value of each name", () => {
  test("is what a map has that was filled along the chain, at every place of any tree, in any order (mutants: a place that is continued twice is not copied; what came later is seen)", () => {
    let seed = 7;
    const random = (below: number): number => {
      seed = (seed * 1103515245 + 12345) % 2147483648;
      return seed % below;
    };
    for (let tree = 0; tree < 30; tree++) {
      const sets = new WeakMap<Chain, Set>();
      const newest = new Newest<number>();
      const places: (Chain | undefined)[] = [undefined];
      for (let i = 0; i < 60; i++) {
        const from = random(3) === 0 ? places[random(places.length)] : places.at(-1);
        places.push(link(sets, from, `n${random(8)}`, i));
        const place = places[random(places.length)];
        const found = newest.at(place, (at, set) => {
          const { name, value } = sets.get(at) as Set;
          set(name, value);
        });
        const expected = naive(sets, place);
        expect([...found]).toEqual(expected);
        expect([...found.values()]).toEqual(expected.map(([, value]) => value));
        for (let n = 0; n < 8; n++) expect(found.get(`n${n}`)).toBe(new Map(expected).get(`n${n}`));
      }
    }
  });

  test("costs what is new: each link is read once, and nothing is copied on a line (mutant: a map for every link, which takes minutes and gigabytes here)", () => {
    const sets = new WeakMap<Chain, Set>();
    const newest = new Newest<number>();
    let chain: Chain | undefined;
    let reads = 0;
    const length = 50_000;
    for (let i = 0; i < length; i++) {
      chain = link(sets, chain, `n${i}`, i);
      const found = newest.at(chain, (at, set) => {
        reads++;
        const { name, value } = sets.get(at) as Set;
        set(name, value);
      });
      expect(found.get(`n${i}`) === i && found.get("n0") === 0).toBe(true);
    }
    expect(reads).toBe(length);
  }, 10_000);
});
