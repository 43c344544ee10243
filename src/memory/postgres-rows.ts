/** What the parts of the PostgreSQL memory ask and read in common. */
import { createHash } from "node:crypto";
import { RathError } from "../session/errors.ts";
import type { MemoryItem } from "../session/memory.ts";
import type { MemoryRecord } from "./memory.ts";
import { decodeItem } from "./record.ts";

/** A memory: whose, and how its database is asked. */
export interface Place {
  readonly tenant: string;
  readonly project: string;
  /** The database as errors name it. */
  readonly name: string;
  /** Runs a statement that may be run twice, again while the server is away. */
  ask<Row>(sql: string, values: readonly unknown[]): Promise<readonly Row[]>;
  /** Runs a statement that may not; again only when it is certain that nothing was done. */
  tell<Row>(sql: string, values: readonly unknown[]): Promise<readonly Row[]>;
}

/** A project at a revision. */
export interface ProjectRow {
  readonly id: string;
  readonly newest: number;
  /** Of what was published then. */
  readonly documents: number;
  readonly length: number;
}

/** Undefined when nothing was ever written. */
export async function projectAt({ tenant, project, ask }: Place, asOf = Number.MAX_SAFE_INTEGER): Promise<ProjectRow | undefined> {
  const [row] = await ask<Record<"id" | "newest" | "documents" | "length", string>>(
    `SELECT p.id, p.revision AS newest, coalesce(r.documents, 0) AS documents, coalesce(r.length, 0) AS length
     FROM openrath.memory_projects p LEFT JOIN openrath.memory_revisions r ON r.project = p.id AND r.revision = least(p.revision, $3)
     WHERE p.tenant = $1 AND p.project = $2`,
    [nameOf(tenant), nameOf(project), wholeRevision(asOf)],
  );
  return row && { id: row.id, newest: Number(row.newest), documents: Number(row.documents), length: Number(row.length) };
}

/** The project, made if it is not there. */
export async function madeProject(place: Place): Promise<ProjectRow> {
  for (;;) {
    const known = await projectAt(place);
    if (known !== undefined) return known;
    const insert = "INSERT INTO openrath.memory_projects (tenant, project) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    await place.ask(insert, [nameOf(place.tenant), nameOf(place.project)]);
  }
}

/** A revision that was asked for, as one that there can be. */
export function wholeRevision(asOf: number): number {
  return Math.max(0, Math.min(Math.floor(asOf), Number.MAX_SAFE_INTEGER)) || 0;
}

/** PostgreSQL's texts hold neither NUL nor half a character. Beginnings stay beginnings. */
export function storable(text: string): string {
  return text.replace(/[\\\0\p{Cs}]/gu, (odd) => `\\${odd.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

const longestName = 600;

/** What a text is looked up by. An index has no room for long ones. */
export function nameOf(text: string): string {
  const name = storable(text);
  return Buffer.byteLength(name) <= longestName ? name : `\\#${createHash("sha256").update(name).digest("hex")}`;
}

/** A version as it was written. */
export interface BodyRow {
  readonly revision: string;
  readonly body: string | null;
}

export function recordOf(place: Place, { body, revision }: BodyRow): MemoryRecord {
  return { ...itemOf(place, body), revision: Number(revision) };
}

export function itemOf(place: Place, body: string | null): MemoryItem {
  try {
    return decodeItem(body ?? "");
  } catch (cause) {
    throw new RathError("store.corrupt", `${place.name} is damaged: an item in it is no JSON. Restore it from a backup.`, { cause });
  }
}

/** Conditions of a query, each with the values that it is bound to. */
export class Conditions {
  readonly #all: string[] = [];
  readonly values: unknown[] = [];

  /** The name under which a value is bound. */
  bind(value: unknown): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }

  add(condition: string): this {
    this.#all.push(condition);
    return this;
  }

  toString(): string {
    return this.#all.join(" AND ");
  }
}
