/** The one statement that writes versions, and what it is bound to. */
import type { Vector } from "../session/embedding.ts";
import type { MemoryItem } from "../session/memory.ts";
import type { MemoryWrite } from "./memory.ts";
import { nameOf, storable } from "./postgres-rows.ts";
import { arrayText, isComparable } from "./postgres-vectors.ts";
import { decodeItem, encodeItem, readNames } from "./record.ts";
import { countWords } from "./score.ts";
import { expiryOf } from "./search.ts";

/** A write with all that can be made of it before the database is asked. */
export interface Prepared {
  readonly given: MemoryItem;
  readonly item: MemoryItem;
  readonly based: number;
  readonly name: string;
  readonly event: string;
  readonly body: string;
  readonly counts: ReadonlyMap<string, number>;
  readonly length: number;
  readonly vector: { readonly model: string; readonly size: number; readonly comparable: boolean; readonly body: string } | undefined;
  readonly again: number | undefined;
}

/** What one statement inserts. */
export interface InsertParts {
  readonly rows: { readonly write: Prepared; superseded: boolean }[];
  /** The numbers of the versions that are no longer the newest. */
  readonly ended: string[];
  /** What there is more of, published. */
  readonly totals: { documents: number; length: number };
}

export function prepare({ item: given, based, vector, again }: MemoryWrite): Prepared {
  const body = encodeItem(given);
  // Not the caller's, who may change it while the database is asked.
  const item = decodeItem(body);
  const { counts, length } = countWords(item);
  return {
    ...{ given, item, based, again, length, body, name: nameOf(item.uri), event: nameOf(item.event) },
    counts: item.state === "published" ? counts : new Map(),
    vector: vector && preparedVector(vector),
  };
}

function preparedVector({ model, values }: Vector): Prepared["vector"] {
  return { model: nameOf(model), size: values.length, comparable: isComparable(values), body: arrayText(values) };
}

/**
 * Everything depends on `counter`, so the row of the project is locked before anything else is touched, and the numbers that it gives are
 * those of the moment when the lock was got.
 */
export const insertStatement = `
WITH counter AS (
  UPDATE openrath.memory_projects SET revision = revision + 1, items = items + $2, documents = documents + $3, length = length + $4
  WHERE id = $1 RETURNING id, revision, items - $2 AS before, documents, length
), counted AS (
  INSERT INTO openrath.memory_revisions (project, revision, documents, length) SELECT id, revision, documents, length FROM counter
), ended AS (
  UPDATE openrath.memory_items i SET until = c.revision FROM counter c WHERE i.project = c.id AND i.no = ANY ($5::bigint[])
), inserted AS (
  INSERT INTO openrath.memory_items
    (project, no, revision, until, name, uri, version, based, key, state, origin, trust, event, at, expires, length)
  SELECT c.id, c.before + n.no, c.revision, CASE WHEN n.superseded THEN c.revision END,
    n.name, n.uri, n.version, n.based, n.key, n.state, n.origin, n.trust, n.event, n.at, n.expires, n.length
  FROM counter c, unnest($6::boolean[], $7::text[], $8::text[], $9::bigint[], $10::bigint[], $11::text[], $12::text[], $13::text[],
    $14::text[], $15::text[], $16::text[], $17::float8[], $18::bigint[])
    WITH ORDINALITY AS n (superseded, name, uri, version, based, key, state, origin, trust, event, at, expires, length, no)
), bodies AS (
  INSERT INTO openrath.memory_bodies (project, no, body)
  SELECT c.id, c.before + n.no, n.body FROM counter c, unnest($19::text[]) WITH ORDINALITY AS n (body, no)
), words AS (
  INSERT INTO openrath.memory_words (project, word, no, count)
  SELECT c.id, n.word, c.before + n.no, n.count FROM counter c, unnest($20::integer[], $21::text[], $22::integer[]) AS n (no, word, count)
), vectors AS (
  INSERT INTO openrath.memory_vectors (project, no, model, size, comparable, body)
  SELECT c.id, c.before + n.no, n.model, n.size, n.comparable, n.body::real[]
  FROM counter c, unnest($23::integer[], $24::text[], $25::integer[], $26::boolean[], $27::text[]) AS n (no, model, size, comparable, body)
  UNION ALL
  SELECT c.id, c.before + n.no, v.model, v.size, v.comparable, v.body FROM counter c
  CROSS JOIN unnest($28::integer[], $29::text[], $30::bigint[]) AS n (no, name, version)
  JOIN openrath.memory_items i ON i.project = c.id AND i.name = n.name AND i.version = n.version
  JOIN openrath.memory_vectors v ON v.project = i.project AND v.no = i.no
), evidence AS (
  INSERT INTO openrath.memory_evidence (project, kind, name, no)
  SELECT c.id, n.kind, n.name, c.before + n.no FROM counter c, unnest($31::integer[], $32::text[], $33::text[]) AS n (no, kind, name)
)
SELECT revision FROM counter`;

/** The values of the statement. Rows are numbered from 1 on, as PostgreSQL does. */
export function insertValues(project: string, { rows, ended, totals }: InsertParts): unknown[] {
  const of = <T>(part: (item: MemoryItem, write: Prepared) => T): T[] => rows.map(({ write }) => part(write.item, write));
  const words = rows.flatMap(({ write }, i) => [...write.counts].map(([word, count]) => [i + 1, word, count] as const));
  const vectors = rows.flatMap(({ write }, i) => {
    const { vector } = vectorIn(rows, write);
    return vector === undefined ? [] : [{ no: i + 1, ...vector }];
  });
  const again = rows.flatMap(({ write }, i) => {
    const { vector, again: version } = vectorIn(rows, write);
    return vector !== undefined || version === undefined ? [] : [{ no: i + 1, name: write.name, version }];
  });
  const evidence = rows.flatMap(({ write: { item } }, i) => [
    ...[...new Set(item.because)].map((name) => [i + 1, "because", nameOf(name)] as const),
    ...readNames(item.from).map((name) => [i + 1, "from", nameOf(name)] as const),
  ]);
  const expiry = (item: MemoryItem) => (Number.isFinite(expiryOf(item)) ? expiryOf(item) : null);
  return [
    ...[project, rows.length, totals.documents, totals.length, ended],
    ...[rows.map(({ superseded }) => superseded), of((_, { name }) => name), of(({ uri }) => storable(uri))],
    ...[of(({ version }) => version), of((_, { based }) => based), of(({ key }) => nameOf(key)), of(({ state }) => state)],
    ...[of(({ origin }) => origin), of(({ trust }) => trust), of((_, { event }) => event), of(({ at }) => storable(at)), of(expiry)],
    ...[of((_, { length }) => length), of((_, { body }) => body)],
    ...[words.map(([no]) => no), words.map(([, word]) => word), words.map(([, , count]) => count)],
    ...[vectors.map(({ no }) => no), vectors.map(({ model }) => model), vectors.map(({ size }) => size)],
    ...[vectors.map(({ comparable }) => comparable), vectors.map(({ body }) => body)],
    ...[again.map(({ no }) => no), again.map(({ name }) => name), again.map(({ version }) => version)],
    ...[evidence.map(([no]) => no), evidence.map(([, kind]) => kind), evidence.map(([, , name]) => name)],
  ];
}

/** The write that has the vector of another: a version may say again what one of the same write says. */
function vectorIn(rows: InsertParts["rows"], write: Prepared): Prepared {
  if (write.vector !== undefined || write.again === undefined) return write;
  const earlier = rows.find((row) => row.write.name === write.name && row.write.item.version === write.again)?.write;
  return earlier === undefined || earlier.item.version >= write.item.version ? write : vectorIn(rows, earlier);
}
