/** What a search asks of the file: candidates by words and by vectors, and statistics, all as of a revision. */

import type { Vector } from "../session/embedding.ts";
import type { MemoryItem } from "../session/memory.ts";
import type { Connection } from "../sqlite/connection.ts";
import type { SqlValue } from "../sqlite/driver.ts";
import type { Document, Statistics } from "./score.ts";
import type { Index, StoredCandidate, Wanted } from "./search.ts";
import { beginsWith } from "./sqlite-list.ts";
import { itemOf, packedCount, totalsAt } from "./sqlite-rows.ts";
import type { Vectors } from "./sqlite-vectors.ts";

interface Row {
  readonly no: number;
  readonly uri: string;
  readonly at: string;
  readonly length: number;
}

const visible = "i.tenant = ? AND i.project = ? AND i.revision <= ? AND (i.until IS NULL OR i.until > ?)";
const rememberedCounts = 20_000;

export class SqliteIndex implements Index {
  readonly #connection: Connection;
  readonly #vectors: Vectors;
  /** By word and revision: what was there at a revision does not change, but for what is erased. */
  readonly #counts = new Map<string, number>();

  constructor(connection: Connection, vectors: Vectors) {
    this.#connection = connection;
    this.#vectors = vectors;
  }

  /** After an erasure. In other processes counts are a little too high until they end: what is found is the same. */
  forget(): void {
    this.#counts.clear();
  }

  statistics(words: readonly string[], revision: number): Statistics {
    const containing = new Map(words.map((word) => [word, this.#containing(word, revision)]));
    return { ...totalsAt(this.#connection, revision), containing };
  }

  #containing(word: string, revision: number): number {
    const name = `${word} ${revision}`;
    const known = this.#counts.get(name);
    if (known !== undefined) return known;
    const { tenant, project } = this.#connection;
    const sql = `SELECT count(*) AS count FROM word_index CROSS JOIN items i ON i.no = word_index.rowid WHERE word_index MATCH ? AND ${visible}`;
    const row = this.#connection.statement<{ count: number }>(sql).get(anyOf([word]), tenant, project, revision, revision);
    if (this.#counts.size >= rememberedCounts) this.#counts.clear();
    this.#counts.set(name, row?.count ?? 0);
    return row?.count ?? 0;
  }

  documents(uris: readonly string[], revision: number): Document[] {
    const { tenant, project } = this.#connection;
    if (uris.length === 0) return [];
    const statement = this.#connection.statement<Row>(
      `SELECT i.no, i.uri, i.at, i.length FROM json_each(?) AS named CROSS JOIN items i ON i.uri = named.value
       WHERE ${visible} AND i.state = 'published'`,
    );
    return statement.all(JSON.stringify([...new Set(uris)]), tenant, project, revision, revision).map((row) => this.#candidate(row));
  }

  byWords(words: readonly string[], wanted: Wanted, most: number): StoredCandidate[] {
    const { where, values } = conditions(this.#connection, wanted);
    // By the rank of the index, which goes by the statistics of the whole file: good enough to choose, not to score.
    const sql = `SELECT i.no, i.uri, i.at, i.length FROM word_index CROSS JOIN items i ON i.no = word_index.rowid
      WHERE word_index MATCH ? AND ${where} ORDER BY word_index.rank LIMIT ?`;
    return this.#connection
      .statement<Row>(sql)
      .all(anyOf(words), ...values, most)
      .map((row) => this.#candidate(row));
  }

  byVector(vector: Vector, wanted: Wanted, most: number): StoredCandidate[] {
    const { where, values } = conditions(this.#connection, wanted);
    const row = this.#connection.statement<Row>("SELECT no, uri, at, length FROM items WHERE no = ?");
    return this.#vectors
      .likest(vector, where, values, most)
      .map(({ no, likeness }) => ({ ...this.#candidate(row.get(no) as Row), likeness }));
  }

  item(no: number): MemoryItem {
    const row = this.#connection.statement<{ body: string }>("SELECT body FROM bodies WHERE no = ?").get(no);
    return itemOf(this.#connection, row?.body ?? "");
  }

  #candidate(row: Row): StoredCandidate {
    const words = this.#connection.statement<{ words: string }>("SELECT words FROM bodies WHERE no = ?").get(row.no)?.words ?? "";
    return { ...row, frequency: (word) => packedCount(words, word) };
  }
}

/** Words hold no quotes, so quoted they are nothing but words. */
function anyOf(words: readonly string[]): string {
  return words.map((word) => `"${word}"`).join(" OR ");
}

function conditions(
  { tenant, project }: Connection,
  { revision, now, within, trust, origin, without }: Wanted,
): { readonly where: string; readonly values: readonly SqlValue[] } {
  const where = [visible, "i.state = 'published'", "(i.expires IS NULL OR i.expires > ?)", beginsWith(within)];
  const values: SqlValue[] = [tenant, project, revision, revision, now, ...within.flatMap((beginning) => [beginning, beginning])];
  const also = (condition: string, value: SqlValue): void => {
    where.push(condition);
    values.push(value);
  };
  if (trust !== undefined) also("i.trust = ?", trust);
  if (origin !== undefined) also("i.origin = ?", origin);
  if (without.size > 0) also("i.uri NOT IN (SELECT value FROM json_each(?))", JSON.stringify([...without]));
  return { where: where.join(" AND "), values };
}
