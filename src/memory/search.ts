/**
 * Searching, the same for every store: a store gives candidates and statistics, this ranks them together with what is staged.
 *
 * A staged item has the score that it would have if it were stored: it is counted in, and what it hides is counted out.
 */
import type { Vector } from "../session/embedding.ts";
import type { MemoryHit, MemoryItem } from "../session/memory.ts";
import type { MemoryQuery } from "./memory.ts";
import { type Candidate, cosine, countWords, type Document, type Ranked, rank, type Statistics } from "./score.ts";
import { queryWords } from "./words.ts";

/** A stored version, by the number that the store knows it by. */
export interface StoredCandidate extends Candidate {
  readonly no: number;
}

/** Which stored versions may be found; every condition must hold. */
export interface Wanted {
  readonly revision: number;
  readonly now: number;
  readonly within: readonly string[];
  readonly trust: MemoryItem["trust"] | undefined;
  readonly origin: MemoryItem["origin"] | undefined;
  readonly without: ReadonlySet<string>;
}

/** What a store tells of its published versions as they were at a revision. */
export interface Index {
  statistics(words: readonly string[], revision: number): Statistics;
  /** The versions that these uris had. */
  documents(uris: readonly string[], revision: number): readonly Document[];
  /** At least the best `most` of those that have one of the words. */
  byWords(words: readonly string[], wanted: Wanted, most: number): readonly StoredCandidate[];
  /** At least the `most` likest; with their likeness. */
  byVector(vector: Vector, wanted: Wanted, most: number): readonly StoredCandidate[];
  item(no: number): MemoryItem;
}

/** What is told where nothing is stored. */
export const emptyIndex: Index = {
  statistics: () => ({ documents: 0, length: 0, containing: new Map() }),
  documents: () => [],
  byWords: () => [],
  byVector: () => [],
  item: (no) => {
    throw new Error(`There is no item ${no} where nothing is stored.`);
  },
};

/** More hits than anybody reads, and an end to what one search may cost. */
const mostHits = 1000;

export function search(index: Index, query: MemoryQuery, revision: number, now: number): MemoryHit[] {
  const plan = planSearch(query, revision, now);
  if (plan === undefined) return [];
  const { words, wanted, most, hiding } = plan;
  const byWords = words.length > 0 ? index.byWords(words, wanted, most) : [];
  const byVector = query.vector === undefined ? [] : index.byVector(query.vector, wanted, most);
  const stored = { byWords, byVector, statistics: index.statistics(words, revision), hidden: index.documents(hiding, revision) };
  return rankFound(query, plan, stored).map(({ candidate, score }) => {
    const item = "no" in candidate ? index.item(candidate.no) : candidate.item;
    return { ...item, score, query: query.text };
  });
}

/** What a search asks of a store. */
export interface SearchPlan {
  readonly words: readonly string[];
  readonly wanted: Wanted;
  /** So many candidates of each kind are enough. */
  readonly most: number;
  /** So many hits at most. */
  readonly limit: number;
  /** Uris of which something is staged. */
  readonly hiding: readonly string[];
}

/** What a store answers. */
export interface Stored {
  readonly byWords: readonly StoredCandidate[];
  readonly byVector: readonly StoredCandidate[];
  readonly statistics: Statistics;
  /** What is stored under the uris that are hidden. */
  readonly hidden: readonly Document[];
}

/** Undefined when nothing can be found. */
export function planSearch(query: MemoryQuery, revision: number, now: number): SearchPlan | undefined {
  const limit = Math.min(Math.floor(query.limit), mostHits);
  const words = queryWords(query.text);
  if (!(limit > 0) || (words.length === 0 && query.vector === undefined)) return undefined;
  const hiding = (query.staged ?? []).map(({ item }) => item.uri);
  const { within, trust, origin } = query;
  const wanted = { revision, now, within, trust, origin, without: new Set([...(query.without ?? []), ...hiding]) };
  return { words, wanted, most: Math.max(64, 8 * limit), limit, hiding };
}

/** The hits, best first, of what is stored and what is staged. */
export function rankFound(
  query: MemoryQuery,
  { words, wanted, limit }: SearchPlan,
  { byWords, byVector, statistics, hidden }: Stored,
): Ranked<StoredCandidate | StagedCandidate>[] {
  // A candidate of both kinds is the one that has its likeness.
  const found = new Map([...byWords, ...byVector].map((one) => [one.no, one]));
  const own = stagedCandidates(query.staged ?? [], query, wanted.now);
  const candidates = [...found.values(), ...own.candidates];
  const counted = adjusted(statistics, words, hidden, own.documents);
  return rank<StoredCandidate | StagedCandidate>(candidates, words, counted, query.vector !== undefined).slice(0, limit);
}

interface StagedCandidate extends Candidate {
  readonly item: MemoryItem;
}

const counted = new WeakMap<MemoryItem, Pick<ReturnType<typeof countWords>, "counts" | "length">>();

/** What is staged is searched again and again, and does not change. */
function wordsIn(item: MemoryItem): Pick<ReturnType<typeof countWords>, "counts" | "length"> {
  const known = counted.get(item);
  if (known !== undefined) return known;
  const { counts, length } = countWords(item);
  if (Object.isFrozen(item)) counted.set(item, { counts, length });
  return { counts, length };
}

/** Of several staged versions of a uri, the last counts. Those that are forgotten only hide. */
function stagedCandidates(
  staged: NonNullable<MemoryQuery["staged"]>,
  query: MemoryQuery,
  now: number,
): { readonly documents: readonly Document[]; readonly candidates: readonly StagedCandidate[] } {
  const newest = [...new Map(staged.map((one) => [one.item.uri, one])).values()].filter(({ item }) => item.state !== "retracted");
  const candidates = newest.map(({ item, vector }) => {
    const { counts, length } = wordsIn(item);
    const likeness = query.vector && vector && likenessOf(query.vector, vector);
    return { item, uri: item.uri, at: item.at, length, frequency: (word: string) => counts.get(word) ?? 0, likeness };
  });
  const { within, trust, origin } = query;
  const without = new Set(query.without);
  return { documents: candidates, candidates: candidates.filter(({ item }) => fits(item, { within, trust, origin, without, now })) };
}

/** Whether an item that is visible may be found. */
export function fits(item: MemoryItem, { within, trust, origin, without, now }: Omit<Wanted, "revision">): boolean {
  return (
    within.some((beginning) => item.uri.startsWith(beginning)) &&
    (trust === undefined || item.trust === trust) &&
    (origin === undefined || item.origin === origin) &&
    !without.has(item.uri) &&
    !(expiryOf(item) <= now)
  );
}

/** When an item is no longer found, in milliseconds since 1970. */
export function expiryOf(item: MemoryItem): number {
  const time = item.expires === undefined ? Number.NaN : Date.parse(item.expires);
  return Number.isNaN(time) ? Number.POSITIVE_INFINITY : time;
}

/** How alike two vectors are; nothing can be said of vectors of different models. */
export function likenessOf(a: Vector, b: Vector): number | undefined {
  return a.model === b.model ? cosine(a.values, b.values) : undefined;
}

/** The statistics as they would be if what is staged were stored. */
function adjusted(
  { documents, length, containing }: Statistics,
  words: readonly string[],
  hidden: readonly Document[],
  staged: readonly Document[],
): Statistics {
  if (hidden.length === 0 && staged.length === 0) return { documents, length, containing };
  const sum = (all: readonly Document[], part: (one: Document) => number) => all.reduce((total, one) => total + part(one), 0);
  const having = (all: readonly Document[], word: string) => sum(all, (one) => (one.frequency(word) > 0 ? 1 : 0));
  return {
    documents: documents - hidden.length + staged.length,
    length: length - sum(hidden, (one) => one.length) + sum(staged, (one) => one.length),
    containing: new Map(words.map((word) => [word, (containing.get(word) ?? 0) - having(hidden, word) + having(staged, word)])),
  };
}
