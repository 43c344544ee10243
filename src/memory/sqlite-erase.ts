/** Erasing what versions say: their bodies, words and vectors go, and their words leave the index. */
import type { MemoryItem } from "../session/memory.ts";
import type { Connection } from "../sqlite/connection.ts";
import { encodeItem, erasedItem } from "./record.ts";
import { countWords } from "./score.ts";
import { itemOf } from "./sqlite-rows.ts";

export async function eraseItems(
  connection: Connection,
  versions: readonly Pick<MemoryItem, "uri" | "version">[],
  entry: string,
): Promise<void> {
  if (versions.length === 0) return;
  await connection.patiently(() =>
    connection.transaction(true, () => {
      for (const { uri, version } of versions) eraseItem(connection, uri, version, entry);
      // A word that was taken out is only marked so until the parts of the index are merged.
      connection.statement("INSERT INTO word_index (word_index) VALUES ('optimize')").run();
    }),
  );
}

function eraseItem(connection: Connection, uri: string, version: number, entry: string): void {
  const { tenant, project } = connection;
  const row = connection
    .statement<{ no: number; body: string }>(
      "SELECT i.no, b.body FROM items i JOIN bodies b ON b.no = i.no WHERE i.tenant = ? AND i.project = ? AND i.uri = ? AND i.version = ?",
    )
    .get(tenant, project, uri, version);
  const item = row && itemOf(connection, row.body);
  if (row === undefined || item === undefined || item.erased !== undefined) return;
  if (item.state === "published") {
    // The index keeps no text: it is told again what it was given.
    const { key, content } = countWords(item);
    connection
      .statement("INSERT INTO word_index (word_index, rowid, key, content) VALUES ('delete', ?, ?, ?)")
      .run(row.no, key.join(" "), content.join(" "));
  }
  connection.statement("UPDATE bodies SET words = '', body = ? WHERE no = ?").run(encodeItem(erasedItem(item, entry)), row.no);
  connection.statement("DELETE FROM vectors WHERE no = ?").run(row.no);
}
