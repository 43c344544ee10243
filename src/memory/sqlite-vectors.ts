/**
 * The items whose vectors are likest to the query's. With the optional package sqlite-vec SQLite compares them, else this file does.
 * Either only chooses: what is chosen is compared once more here, so that both give the same likeness to the last digit.
 */
import { createRequire } from "node:module";
import type { Vector } from "../session/embedding.ts";
import type { Connection } from "../sqlite/connection.ts";
import type { Database, SqlValue } from "../sqlite/driver.ts";
import { cosine } from "./score.ts";

/** Makes `vec_distance_cosine` known to a database; false if it cannot. */
export type LoadVectors = (database: Database) => boolean;

interface Row {
  readonly no: number;
  readonly body: Uint8Array;
}

interface Alike {
  readonly no: number;
  readonly likeness: number;
}

const pageRows = 512;

export const loadVectors: LoadVectors = (database) => {
  try {
    const { getLoadablePath } = createRequire(import.meta.url)("sqlite-vec") as { getLoadablePath: () => string };
    if (database.loadExtension === undefined) return false;
    database.loadExtension(getLoadablePath());
    return true;
  } catch {
    // Not installed, or not for this machine. What is missing is speed.
    return false;
  }
};

export function bytesOf(values: Float32Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}

function valuesOf(body: Uint8Array): Float32Array {
  if (body.byteOffset % 4 === 0) return new Float32Array(body.buffer, body.byteOffset, body.byteLength >>> 2);
  return new Float32Array(Uint8Array.from(body).buffer);
}

export class Vectors {
  readonly #connection: Connection;
  readonly #load: LoadVectors;
  #loaded: boolean | undefined;

  constructor(connection: Connection, load: LoadVectors) {
    this.#connection = connection;
    this.#load = load;
  }

  /** Of those that `where` says of `i`, an item. Likest first, all above 0. */
  likest(vector: Vector, where: string, values: readonly SqlValue[], most: number): Alike[] {
    this.#loaded ??= this.#load(this.#connection.database);
    const { tenant, project } = this.#connection;
    const bytes = Uint8Array.from(bytesOf(vector.values));
    const from = `vectors v CROSS JOIN items i ON i.no = v.no WHERE v.tenant = ? AND v.project = ? AND v.model = ? AND length(v.body) = ? AND ${where}`;
    const bound = [tenant, project, vector.model, bytes.length, ...values];
    const rows = this.#loaded ? this.#chosen(from, bound, bytes, most) : this.#all(from, bound);
    const alike: Alike[] = [];
    for (const { no, body } of rows) {
      const likeness = cosine(vector.values, valuesOf(body)) ?? 0;
      if (likeness > 0) alike.push({ no, likeness });
    }
    return alike.sort((a, b) => b.likeness - a.likeness || a.no - b.no).slice(0, most);
  }

  #chosen(from: string, bound: readonly SqlValue[], bytes: Uint8Array, most: number): Row[] {
    const chosen = this.#connection
      .statement<{ no: number }>(`SELECT v.no FROM ${from} ORDER BY vec_distance_cosine(v.body, ?) NULLS LAST, v.no LIMIT ?`)
      .all(...bound, bytes, most);
    const body = this.#connection.statement<Row>("SELECT no, body FROM vectors WHERE no = ?");
    return chosen.map(({ no }) => body.get(no) as Row);
  }

  *#all(from: string, bound: readonly SqlValue[]): Iterable<Row> {
    const page = this.#connection.statement<Row>(`SELECT v.no, v.body FROM ${from} AND v.no > ? ORDER BY v.no LIMIT ${pageRows}`);
    for (let last: number | undefined = 0; last !== undefined; ) {
      const rows: Row[] = page.all(...bound, last);
      yield* rows;
      last = rows.length < pageRows ? undefined : rows.at(-1)?.no;
    }
  }
}
