/** Erasing what versions say: their bodies are replaced, their words and vectors deleted. The bytes go when the server vacuums. */
import type { MemoryItem } from "../session/memory.ts";
import { itemOf, nameOf, type Place, projectAt } from "./postgres-rows.ts";
import { encodeItem, erasedItem } from "./record.ts";

export async function eraseItems(place: Place, versions: readonly Pick<MemoryItem, "uri" | "version">[], entry: string): Promise<void> {
  const project = versions.length === 0 ? undefined : await projectAt(place);
  if (project === undefined) return;
  const rows = await place.ask<{ readonly no: string; readonly body: string }>(
    `SELECT i.no, b.body FROM unnest($2::text[], $3::bigint[]) AS w (name, version)
     JOIN openrath.memory_items i ON i.project = $1 AND i.name = w.name AND i.version = w.version
     JOIN openrath.memory_bodies b ON b.project = i.project AND b.no = i.no`,
    [project.id, versions.map(({ uri }) => nameOf(uri)), versions.map(({ version }) => version)],
  );
  const found = rows.map(({ no, body }) => ({ no, item: itemOf(place, body) })).filter(({ item }) => item.erased === undefined);
  if (found.length === 0) return;
  await place.tell(erase, [project.id, found.map(({ no }) => no), found.map(({ item }) => encodeItem(erasedItem(item, entry)))]);
}

const erase = `
WITH bodies AS (
  UPDATE openrath.memory_bodies b SET body = n.body FROM unnest($2::bigint[], $3::text[]) AS n (no, body) WHERE b.project = $1 AND b.no = n.no
), words AS (
  DELETE FROM openrath.memory_words WHERE project = $1 AND no = ANY ($2::bigint[])
)
DELETE FROM openrath.memory_vectors WHERE project = $1 AND no = ANY ($2::bigint[])`;
