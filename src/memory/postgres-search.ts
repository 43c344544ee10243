/**
 * What a search asks of the database: candidates by words and by vectors, and statistics, all as of a revision. What was there at a
 * revision does not change, so the questions need no transaction around them.
 *
 * The database chooses by the formula of `score.ts`; what is chosen is scored once more there, together with what is staged.
 */
import type { Vector } from "../session/embedding.ts";
import type { MemoryHit, MemoryItem } from "../session/memory.ts";
import type { MemoryQuery } from "./memory.ts";
import { beginsWith } from "./postgres-list.ts";
import { Conditions, itemOf, nameOf, type Place, type ProjectRow, projectAt, storable, wholeRevision } from "./postgres-rows.ts";
import type { Vectors } from "./postgres-vectors.ts";
import type { Document, Statistics } from "./score.ts";
import { planSearch, rankFound, type SearchPlan, type StoredCandidate, type Wanted } from "./search.ts";

const nothing: ProjectRow = { id: "0", newest: 0, documents: 0, length: 0 };

export async function searchItems(place: Place, vectors: Vectors, query: MemoryQuery, now: number): Promise<MemoryHit[]> {
  const project = (await projectAt(place, query.asOf)) ?? nothing;
  const revision = query.asOf === undefined ? project.newest : Math.min(wholeRevision(query.asOf), project.newest);
  const plan = planSearch(query, revision, now);
  if (plan === undefined) return [];
  const [{ candidates, containing }, byVector, hidden] = await Promise.all([
    byWords(place, project, plan),
    query.vector === undefined ? [] : alike(place, project, vectors, query.vector, plan),
    hiddenBy(place, project, plan),
  ]);
  const statistics: Statistics = { documents: project.documents, length: project.length, containing };
  const best = rankFound(query, plan, { byWords: candidates, byVector, statistics, hidden });
  const stored = best.flatMap(({ candidate }) => ("no" in candidate ? [candidate.no] : []));
  const items = await itemsOf(place, project, stored);
  return best.map(({ candidate, score }) => {
    const item = "no" in candidate ? (items.get(candidate.no) as MemoryItem) : candidate.item;
    return { ...item, score, query: query.text };
  });
}

interface CandidateRow {
  readonly no: string;
  readonly uri: string;
  readonly at: string;
  readonly length: string;
  readonly words: readonly string[] | null;
  readonly counts: readonly number[] | null;
}

/** How many visible items have each word, and the best of those that are wanted, by the formula of `score.ts`. */
async function byWords(
  place: Place,
  { id, documents, length }: ProjectRow,
  { words, wanted, most }: SearchPlan,
): Promise<{ readonly candidates: readonly StoredCandidate[]; readonly containing: ReadonlyMap<string, number> }> {
  if (words.length === 0 || documents === 0) return { candidates: [], containing: new Map() };
  const where = new Conditions();
  const [asked, all, average] = [where.bind(words), where.bind(documents), where.bind(length > 0 ? length / documents : 1)];
  const condition = fitting(where, id, wanted);
  const rows = await place.ask<CandidateRow & { readonly items: string | null }>(
    `WITH found AS MATERIALIZED (
       SELECT w.word, w.no, w.count, i.uri, i.at, i.length, ${condition.also} AS wanted
       FROM openrath.memory_words w JOIN openrath.memory_items i ON i.project = w.project AND i.no = w.no
       WHERE w.project = ${condition.project} AND w.word = ANY (${asked}::text[]) AND ${condition.visible}
     ), spread AS (
       SELECT word, count(*) AS items FROM found GROUP BY word
     ), best AS (
       SELECT f.no, f.uri, f.at, f.length, array_agg(f.word) AS words, array_agg(f.count) AS counts,
         sum(ln(1 + (${all}::float8 - h.items + 0.5) / (h.items + 0.5)) * f.count * 2.2
           / (f.count + 1.2 * (0.25 + 0.75 * f.length / ${average}::float8))) AS score
       FROM found f JOIN spread h ON h.word = f.word WHERE f.wanted GROUP BY f.no, f.uri, f.at, f.length
       ORDER BY score DESC, f.at DESC, f.uri LIMIT ${where.bind(most)}
     )
     SELECT no, uri, at, length, words, counts, NULL::bigint AS items FROM best
     UNION ALL SELECT NULL, NULL, NULL, NULL, ARRAY[word], NULL, items FROM spread`,
    where.values,
  );
  const containing = new Map(rows.flatMap(({ items, words }) => (items === null ? [] : [[words?.[0] as string, Number(items)] as const])));
  return { candidates: rows.filter(({ items }) => items === null).map(candidate), containing };
}

function candidate({ no, uri, at, length, words, counts }: CandidateRow): StoredCandidate {
  const times = new Map(words?.map((word, i) => [word, counts?.[i] ?? 0]));
  return { no: Number(no), uri, at, length: Number(length), frequency: (word) => times.get(word) ?? 0 };
}

/** The likest, with their words. */
async function alike(
  place: Place,
  { id }: ProjectRow,
  vectors: Vectors,
  vector: Vector,
  { words, wanted, most }: SearchPlan,
): Promise<StoredCandidate[]> {
  const where = new Conditions();
  const { project, visible, also } = fitting(where, id, wanted);
  const chosen = await vectors.likest(vector, where, `i.project = ${project} AND ${visible} AND ${also}`, most);
  if (chosen.length === 0) return [];
  const likeness = new Map(chosen.map((one) => [one.no, one.likeness]));
  const rows = await withWords(place, id, words, "i.no = ANY ($3::bigint[])", [...likeness.keys()]);
  return rows.map((row) => ({ ...candidate(row), likeness: likeness.get(Number(row.no)) }));
}

/** What is stored under the uris of which something is staged. */
async function hiddenBy(place: Place, { id }: ProjectRow, { words, wanted, hiding }: SearchPlan): Promise<Document[]> {
  if (hiding.length === 0) return [];
  const visible = "i.state = 'published' AND i.revision <= $4 AND (i.until IS NULL OR i.until > $4)";
  const names = [...new Set(hiding)].map(nameOf);
  return (await withWords(place, id, words, `i.name = ANY ($3::text[]) AND ${visible}`, names, wanted.revision)).map(candidate);
}

function withWords(place: Place, project: string, words: readonly string[], which: string, ...values: readonly unknown[]) {
  return place.ask<CandidateRow>(
    `SELECT i.no, i.uri, i.at, i.length, array_agg(w.word) FILTER (WHERE w.word IS NOT NULL) AS words,
       array_agg(w.count) FILTER (WHERE w.word IS NOT NULL) AS counts
     FROM openrath.memory_items i
     LEFT JOIN openrath.memory_words w ON w.project = i.project AND w.no = i.no AND w.word = ANY ($2::text[])
     WHERE i.project = $1 AND ${which} GROUP BY i.no, i.uri, i.at, i.length`,
    [project, words, ...values],
  );
}

async function itemsOf(place: Place, { id }: ProjectRow, numbers: readonly number[]): Promise<Map<number, MemoryItem>> {
  if (numbers.length === 0) return new Map();
  const sql = "SELECT no, body FROM openrath.memory_bodies WHERE project = $1 AND no = ANY ($2::bigint[])";
  const rows = await place.ask<{ readonly no: string; readonly body: string }>(sql, [id, numbers]);
  return new Map(rows.map(({ no, body }) => [Number(no), itemOf(place, body)]));
}

/** Conditions on `i`, an item: whether it was there at the revision, and whether it may be found. */
function fitting(
  where: Conditions,
  id: string,
  { revision, now, within, trust, origin, without }: Wanted,
): { readonly project: string; readonly visible: string; readonly also: string } {
  const project = where.bind(id);
  const at = where.bind(revision);
  const also = ["i.state = 'published'", `(i.expires IS NULL OR i.expires > ${where.bind(now)})`, beginsWith(where, within)];
  if (trust !== undefined) also.push(`i.trust = ${where.bind(trust)}`);
  if (origin !== undefined) also.push(`i.origin = ${where.bind(origin)}`);
  if (without.size > 0) also.push(`i.uri <> ALL (${where.bind([...without].map(storable))}::text[])`);
  return { project, visible: `i.revision <= ${at} AND (i.until IS NULL OR i.until > ${at})`, also: `(${also.join(" AND ")})` };
}
