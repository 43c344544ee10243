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

/** A word of a candidate; a candidate that has none of the words has one row without. */
interface WordRow {
  readonly no: string;
  readonly uri: string;
  readonly at: string;
  readonly length: string;
  readonly word: string | null;
  readonly count: number | null;
}

function candidatesOf(rows: readonly WordRow[]): StoredCandidate[] {
  const found = new Map<string, { readonly row: WordRow; readonly counts: Map<string, number> }>();
  for (const row of rows) {
    const { counts } = found.get(row.no) ?? { counts: new Map<string, number>() };
    if (row.word !== null) counts.set(row.word, row.count ?? 0);
    found.set(row.no, { row, counts });
  }
  return [...found.values()].map(({ row: { no, uri, at, length }, counts }) => {
    return { no: Number(no), uri, at, length: Number(length), frequency: (word) => counts.get(word) ?? 0 };
  });
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
  const { project, visible, also } = fitting(where, id, wanted);
  // OFFSET 0 makes the server look up item by item. Before it has statistics of new tables it would rather read all for each.
  const rows = await place.ask<WordRow & { readonly items: string | null }>(
    `WITH found AS MATERIALIZED (
       SELECT w.word, w.no, w.count, i.uri, i.at, i.length, i.wanted FROM openrath.memory_words w CROSS JOIN LATERAL (
         SELECT i.uri, i.at, i.length, ${also} AS wanted FROM openrath.memory_items i
         WHERE i.project = ${project} AND i.no = w.no AND ${visible} OFFSET 0
       ) i WHERE w.project = ${project} AND w.word = ANY (${asked}::text[])
     ), spread AS MATERIALIZED (
       SELECT word, count(*) AS items, ln(1 + (${all}::float8 - count(*) + 0.5::float8) / (count(*) + 0.5::float8)) AS rarity
       FROM found GROUP BY word
     ), best AS MATERIALIZED (
       SELECT f.no, min(f.uri) AS uri, min(f.at) AS at, min(f.length) AS length, sum(s.rarity * f.count * 2.2::float8
         / (f.count + 1.2::float8 * (0.25::float8 + 0.75::float8 * f.length / ${average}::float8))) AS score
       FROM found f JOIN spread s ON s.word = f.word WHERE f.wanted GROUP BY f.no
       ORDER BY score DESC, at DESC, uri LIMIT ${where.bind(most)}
     )
     SELECT b.no, b.uri, b.at, b.length, w.word, w.count, NULL::bigint AS items FROM best b CROSS JOIN LATERAL (
       SELECT w.word, w.count FROM openrath.memory_words w
       WHERE w.project = ${project} AND w.word = ANY (${asked}::text[]) AND w.no = b.no OFFSET 0
     ) w
     UNION ALL SELECT NULL, NULL, NULL, NULL, word, NULL, items FROM spread`,
    where.values,
  );
  const counted = rows.flatMap(({ items, word }) => (items === null || word === null ? [] : [[word, Number(items)] as const]));
  return { candidates: candidatesOf(rows.filter(({ items }) => items === null)), containing: new Map(counted) };
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
  const chosen = await vectors.likest(vector, where, project, `${visible} AND ${also}`, most);
  if (chosen.length === 0) return [];
  const likeness = new Map(chosen.map((one) => [one.no, one.likeness]));
  const rows = await withWords(place, id, words, "i.no = ANY ($3::bigint[])", [...likeness.keys()]);
  return candidatesOf(rows).map((one) => ({ ...one, likeness: likeness.get(one.no) }));
}

/** What is stored under the uris of which something is staged. */
async function hiddenBy(place: Place, { id }: ProjectRow, { words, wanted, hiding }: SearchPlan): Promise<Document[]> {
  if (hiding.length === 0) return [];
  const visible = "i.state = 'published' AND i.revision <= $4 AND (i.until IS NULL OR i.until > $4)";
  const names = [...new Set(hiding)].map(nameOf);
  return candidatesOf(await withWords(place, id, words, `i.name = ANY ($3::text[]) AND ${visible}`, names, wanted.revision));
}

function withWords(place: Place, project: string, words: readonly string[], which: string, ...values: readonly unknown[]) {
  return place.ask<WordRow>(
    `SELECT i.no, i.uri, i.at, i.length, w.word, w.count FROM openrath.memory_items i
     LEFT JOIN LATERAL (
       SELECT w.word, w.count FROM openrath.memory_words w WHERE w.project = $1 AND w.word = ANY ($2::text[]) AND w.no = i.no OFFSET 0
     ) w ON true WHERE i.project = $1 AND ${which}`,
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
