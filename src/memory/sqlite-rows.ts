/** What the parts of the SQLite memory read in common. */
import type { MemoryItem } from "../session/memory.ts";
import type { Connection } from "../sqlite/connection.ts";
import { corrupt } from "../sqlite/open.ts";
import type { MemoryRecord } from "./memory.ts";
import { decodeItem } from "./record.ts";

/** A version as it was written. */
export interface BodyRow {
  readonly revision: number;
  readonly body: string;
}

/** Of the project; 0 when nothing was ever written. */
export function newestRevision(connection: Connection): number {
  const row = connection
    .statement<{ revision: number | null }>("SELECT max(revision) AS revision FROM revisions WHERE tenant = ? AND project = ?")
    .get(connection.tenant, connection.project);
  return row?.revision ?? 0;
}

/** Of what was published at a revision. */
export function totalsAt(connection: Connection, revision: number): { readonly documents: number; readonly length: number } {
  const row = connection
    .statement<{ documents: number; length: number }>(
      "SELECT documents, length FROM revisions WHERE tenant = ? AND project = ? AND revision <= ? ORDER BY revision DESC LIMIT 1",
    )
    .get(connection.tenant, connection.project, revision);
  return { documents: row?.documents ?? 0, length: row?.length ?? 0 };
}

export function recordOf(connection: Connection, { body, revision }: BodyRow): MemoryRecord {
  return { ...itemOf(connection, body), revision };
}

export function itemOf(connection: Connection, body: string): MemoryItem {
  try {
    return decodeItem(body);
  } catch (cause) {
    throw corrupt(connection.path, "an item in it is no JSON", cause);
  }
}

/** How often an item has each word, as one text in which a word is found without reading the rest: even of a large item quickly. */
export function packCounts(counts: ReadonlyMap<string, number>): string {
  let packed = "\n";
  for (const [word, count] of counts) packed += `${word}\t${count}\n`;
  return packed;
}

export function packedCount(packed: string, word: string): number {
  const at = packed.indexOf(`\n${word}\t`);
  return at < 0 ? 0 : Number.parseInt(packed.slice(at + word.length + 2, at + word.length + 18), 10);
}
