import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bm25, type Candidate, cosine, countWords, rank, type Statistics } from "./score.ts";

function candidate(uri: string, content: string, over: Partial<Candidate> = {}): Candidate {
  const { counts, length } = countWords({ key: "", content });
  return { uri, at: "2026-01-01T00:00:00.000Z", length, frequency: (word) => counts.get(word) ?? 0, ...over };
}

function statistics(words: readonly string[], all: readonly Candidate[]): Statistics {
  const having = (word: string) => all.filter(({ frequency }) => frequency(word) > 0).length;
  return {
    documents: all.length,
    length: all.reduce((total, { length }) => total + length, 0),
    containing: new Map(words.map((word) => [word, having(word)])),
  };
}

const ranked = (all: readonly Candidate[], words: readonly string[], fused = false) =>
  rank(all, words, statistics(words, all), fused).map(({ candidate: { uri } }) => uri);

describe("the score of words", () => {
  test("is BM25 with an inverse document frequency above 0", () => {
    const all = [candidate("a", "x x y"), candidate("b", "y")];
    // By hand: N = 2, df = 1, tf = 2, length 3 of an average of 2.
    const rarity = Math.log(1 + 1.5 / 1.5);
    const expected = (rarity * 2 * 2.2) / (2 + 1.2 * (0.25 + (0.75 * 3) / 2));
    expect(bm25(["x"], all[0] as Candidate, statistics(["x"], all))).toBeCloseTo(expected, 12);
  });

  test("counts words of the key twice", () => {
    const { counts, length } = countWords({ key: "tests", content: "run tests" });
    expect([counts.get("test"), counts.get("run"), length]).toEqual([3, 1, 4]);
  });

  test("prefers the rare word, the frequent use and the short text", () => {
    expect(ranked([candidate("a", "common"), candidate("b", "common zebra"), candidate("c", "common")], ["common", "zebra"])[0]).toBe("b");
    expect(ranked([candidate("a", "x y z"), candidate("b", "x x z")], ["x"])).toEqual(["b", "a"]);
    expect(ranked([candidate("a", "x y z y z y z"), candidate("b", "x y")], ["x"])).toEqual(["b", "a"]);
  });

  const word = fc.constantFrom("a1", "b1", "c1", "d1");
  const texts = fc.array(fc.array(word, { maxLength: 8 }), { minLength: 1, maxLength: 12 });

  test("is above 0 for whatever has a word of the query, and for nothing else", () => {
    fc.assert(
      fc.property(texts, fc.uniqueArray(word, { minLength: 1 }), (documents, words) => {
        const all = documents.map((content, i) => candidate(`u${i}`, content.join(" ")));
        const matching = documents.flatMap((content, i) => (content.some((one) => words.includes(one)) ? [`u${i}`] : []));
        expect(ranked(all, words).sort()).toEqual(matching.sort());
        for (const { score } of rank(all, words, statistics(words, all), false)) expect(score).toBeGreaterThan(0);
      }),
    );
  });

  test("does not depend on the order of the candidates", () => {
    fc.assert(
      fc.property(texts, fc.uniqueArray(word, { minLength: 1 }), (documents, words) => {
        const all = documents.map((content, i) => candidate(`u${i}`, content.join(" "), { likeness: (i % 3) - 1 }));
        for (const fused of [true, false]) expect(ranked([...all].reverse(), words, fused)).toEqual(ranked(all, words, fused));
      }),
    );
  });

  test("is finite where nothing is known of the store", () => {
    const one = candidate("a", "x");
    expect(bm25(["x"], one, { documents: 0, length: 0, containing: new Map() })).toBeGreaterThan(0);
  });
});

describe("words and vectors together", () => {
  test("rank by the places in both", () => {
    const all = [
      candidate("words only", "x x x"),
      candidate("both", "x y", { likeness: 0.2 }),
      candidate("vector only", "z", { likeness: 0.9 }),
      candidate("neither", "z"),
      candidate("opposite", "z", { likeness: -0.5 }),
    ];
    const result = rank(all, ["x"], statistics(["x"], all), true);
    expect(result.map(({ candidate: { uri }, score }) => [uri, score])).toEqual([
      ["both", 1 / 62 + 1 / 62],
      ["vector only", 1 / 61],
      ["words only", 1 / 61],
    ]);
  });
});

describe("the cosine", () => {
  test("is that of two vectors of one length that are not 0", () => {
    const vector = (...values: number[]) => Float32Array.from(values);
    expect(cosine(vector(1, 0), vector(2, 0))).toBe(1);
    expect(cosine(vector(1, 0), vector(0, 5))).toBe(0);
    expect(cosine(vector(1, 0), vector(-3, 0))).toBe(-1);
    for (const other of [vector(0, 0), vector(1), vector(Number.NaN, 1), vector(Number.POSITIVE_INFINITY, 0)])
      expect(cosine(vector(1, 0), other)).toBeUndefined();
  });
});
