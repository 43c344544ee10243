/**
 * The items whose vectors are likest to the query's. Where the extension pgvector is there PostgreSQL compares them, else this file does.
 * Either only chooses: what is chosen is compared once more here, so that both give the same likeness to the last digit.
 */
import type { Vector } from "../session/embedding.ts";
import { type Conditions, nameOf, type Place } from "./postgres-rows.ts";
import { cosine } from "./score.ts";

interface Row {
  readonly no: string;
  /** As `array_send` gives it: 20 bytes about the array, then a length and a number for each place. In base64, which any driver brings. */
  readonly body: string;
}

interface Alike {
  readonly no: number;
  readonly likeness: number;
}

const pageRows = 512;
/** Of pgvector. */
const mostPlaces = 16_000;

export class Vectors {
  readonly #place: Place;
  /** The schema that pgvector is in; null when it is not there. */
  #schema: Promise<string | null> | undefined;

  constructor(place: Place) {
    this.#place = place;
  }

  /** Of those of a project that `which` says of `i`, an item. Likest first, all above 0. */
  async likest(vector: Vector, where: Conditions, project: string, which: string, most: number): Promise<Alike[]> {
    const { model, values } = { model: nameOf(vector.model), values: Float32Array.from(vector.values) };
    const from = `openrath.memory_vectors v CROSS JOIN LATERAL (
        SELECT 1 FROM openrath.memory_items i WHERE i.project = ${project} AND i.no = v.no AND ${which} OFFSET 0
      ) i WHERE v.project = ${project} AND v.model = ${where.bind(model)} AND v.size = ${where.bind(values.length)}`;
    this.#schema ??= this.#find();
    const schema = await this.#schema;
    const chosen = schema !== null && isComparable(values);
    const alike: Alike[] = [];
    for await (const { no, body } of chosen ? this.#chosen(schema, from, where, values, most) : this.#all(from, where)) {
      const likeness = cosine(values, valuesOf(body)) ?? 0;
      if (likeness > 0) alike.push({ no: Number(no), likeness });
    }
    return alike.sort((a, b) => b.likeness - a.likeness || a.no - b.no).slice(0, most);
  }

  async #find(): Promise<string | null> {
    const sql = `SELECT quote_ident(n.nspname) AS schema FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
      WHERE e.extname = 'vector' AND has_schema_privilege(n.oid, 'USAGE')`;
    const [row] = await this.#place.ask<{ readonly schema: string }>(sql, []);
    return row?.schema ?? null;
  }

  async *#chosen(schema: string, from: string, where: Conditions, values: Float32Array, most: number): AsyncIterable<Row> {
    const asked = `${where.bind(arrayText(values))}::real[]::${schema}.vector`;
    yield* await this.#place.ask<Row>(
      `SELECT v.no, encode(array_send(v.body), 'base64') AS body FROM ${from} AND v.comparable
       ORDER BY v.body::${schema}.vector OPERATOR(${schema}.<=>) ${asked}, v.no LIMIT ${where.bind(most)}`,
      where.values,
    );
  }

  async *#all(from: string, where: Conditions): AsyncIterable<Row> {
    const sql = `SELECT v.no, encode(array_send(v.body), 'base64') AS body FROM ${from} AND v.no > ${where.bind(undefined)}::bigint ORDER BY v.no LIMIT ${pageRows}`;
    for (let last: string | undefined = "0"; last !== undefined; ) {
      const rows: readonly Row[] = await this.#place.ask(sql, [...where.values.slice(0, -1), last]);
      yield* rows;
      last = rows.length < pageRows ? undefined : rows.at(-1)?.no;
    }
  }
}

/** As PostgreSQL reads an array; nine digits are enough to get the same number back. */
export function arrayText(values: Float32Array): string {
  return `{${Array.from(values, (value) => value.toPrecision(9)).join(",")}}`;
}

/** Whether pgvector takes it, and it can be alike to anything. */
export function isComparable(values: Float32Array): boolean {
  return values.length <= mostPlaces && values.every(Number.isFinite) && values.some((value) => value !== 0);
}

function valuesOf(body: string): Float32Array {
  const bytes = Buffer.from(body, "base64");
  const values = new Float32Array(Math.max(0, (bytes.byteLength - 20) >>> 3));
  for (let i = 0; i < values.length; i++) values[i] = bytes.readFloatBE(24 + 8 * i);
  return values;
}
