/**
 * How well an item matches: BM25 over its words, the key counted twice, fused with the likeness of vectors when there are any.
 *
 * Pure: whoever asks brings the documents and the statistics, so an item has the same score wherever it lies.
 */
import { wordsOf } from "./words.ts";

/** What an item is compared by. */
export interface Document {
  /** How often each word occurs, those of the key counted with their weight. */
  readonly frequency: (word: string) => number;
  /** The number of words, counted likewise. */
  readonly length: number;
}

/** What is known of all items together. */
export interface Statistics {
  readonly documents: number;
  /** Of all documents together. */
  readonly length: number;
  /** In how many documents each word of the query is. */
  readonly containing: ReadonlyMap<string, number>;
}

/** A document that may be returned. Of equals, the newer comes first. */
export interface Candidate extends Document {
  readonly uri: string;
  readonly at: string;
  /** The cosine of its vector and the query's; none when they cannot be compared. */
  readonly likeness?: number | undefined;
}

/** A candidate and how well it matches. */
export interface Ranked<T> {
  readonly candidate: T;
  readonly score: number;
}

const keyWeight = 2;
const saturation = 1.2;
const lengthInfluence = 0.75;
const fusion = 60;

/** The words of an item with their weighted counts. */
export function countWords(item: { readonly key: string; readonly content: string }): {
  readonly key: readonly string[];
  readonly content: readonly string[];
  readonly counts: ReadonlyMap<string, number>;
  readonly length: number;
} {
  const key = wordsOf(item.key);
  const content = wordsOf(item.content);
  const counts = new Map<string, number>();
  for (const word of content) counts.set(word, (counts.get(word) ?? 0) + 1);
  for (const word of key) counts.set(word, (counts.get(word) ?? 0) + keyWeight);
  return { key, content, counts, length: content.length + keyWeight * key.length };
}

/** BM25 with an inverse document frequency that never falls to 0, so whatever has a word of the query scores above 0. */
export function bm25(words: readonly string[], document: Document, statistics: Statistics): number {
  const { documents, length, containing } = statistics;
  const average = documents > 0 && length > 0 ? length / documents : 1;
  const norm = saturation * (1 - lengthInfluence + (lengthInfluence * document.length) / average);
  let score = 0;
  for (const word of words) {
    const times = document.frequency(word);
    if (times === 0) continue;
    const others = Math.min(containing.get(word) ?? 0, documents);
    const rarity = Math.log(1 + (documents - others + 0.5) / (others + 0.5));
    score += (rarity * times * (saturation + 1)) / (times + norm);
  }
  return score;
}

/**
 * Those that match, best first. Without vectors the score is that of the words; with them, what the ranks by words and by
 * likeness give together (reciprocal rank fusion).
 */
export function rank<T extends Candidate>(
  candidates: readonly T[],
  words: readonly string[],
  statistics: Statistics,
  fused: boolean,
): Ranked<T>[] {
  const byWords = ordered(candidates.map((candidate) => ({ candidate, score: bm25(words, candidate, statistics) })));
  if (!fused) return byWords;
  const byLikeness = ordered(candidates.map((candidate) => ({ candidate, score: candidate.likeness ?? 0 })));
  const scores = new Map<T, number>();
  for (const ranking of [byWords, byLikeness])
    ranking.forEach(({ candidate }, place) => {
      scores.set(candidate, (scores.get(candidate) ?? 0) + 1 / (fusion + place + 1));
    });
  return ordered([...scores].map(([candidate, score]) => ({ candidate, score })));
}

/** Above 0 only: an item that has nothing in common with the query is no hit. */
function ordered<T extends Candidate>(scored: readonly Ranked<T>[]): Ranked<T>[] {
  return scored
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || compare(b.candidate.at, a.candidate.at) || compare(a.candidate.uri, b.candidate.uri));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The cosine of two vectors; undefined when there is none. */
export function cosine(a: Float32Array, b: Float32Array): number | undefined {
  if (a.length !== b.length) return undefined;
  let product = 0;
  let ofA = 0;
  let ofB = 0;
  for (let i = 0; i < a.length; i++) {
    const [x, y] = [a[i] as number, b[i] as number];
    product += x * y;
    ofA += x * x;
    ofB += y * y;
  }
  const value = product / Math.sqrt(ofA * ofB);
  return Number.isFinite(value) ? value : undefined;
}
