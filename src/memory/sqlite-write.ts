/** Writing versions: judged and inserted in one transaction, which is on disk before it is acknowledged. */
import type { MemoryItem } from "../session/memory.ts";
import type { Connection } from "../sqlite/connection.ts";
import type { MemoryRecord, MemoryUse, MemoryWrite, MemoryWritten } from "./memory.ts";
import { checkWrites, encodeItem, readNames } from "./record.ts";
import { countWords } from "./score.ts";
import { expiryOf } from "./search.ts";
import { type BodyRow, newestRevision, packCounts, recordOf, totalsAt } from "./sqlite-rows.ts";
import { bytesOf } from "./sqlite-vectors.ts";

/** A write with all that can be made of it before the file is locked. */
interface Prepared {
  readonly item: MemoryItem;
  readonly based: number;
  readonly body: string;
  readonly words: string;
  readonly length: number;
  readonly indexed: { readonly key: string; readonly content: string } | undefined;
  readonly vector: { readonly model: string; readonly body: Uint8Array } | undefined;
  readonly again: number | undefined;
}

interface Newest extends BodyRow {
  readonly no: number;
  readonly version: number;
  readonly state: string;
  readonly length: number;
}

export async function writeItems(connection: Connection, writes: readonly MemoryWrite[], whole: boolean): Promise<MemoryWritten> {
  checkWrites(writes);
  const prepared = writes.map(prepare);
  return connection.patiently(() =>
    connection.transaction(true, () => {
      const refused = whole ? prepared.flatMap((write) => staleIn(connection, write)) : [];
      return refused.length > 0 ? { revision: newestRevision(connection), written: [], refused } : apply(connection, prepared);
    }),
  );
}

function prepare({ item, based, vector, again }: MemoryWrite): Prepared {
  const { key, content, counts, length } = countWords(item);
  const published = item.state === "published";
  return {
    item,
    based,
    body: encodeItem(item),
    words: published ? packCounts(counts) : "",
    length,
    indexed: published ? { key: key.join(" "), content: content.join(" ") } : undefined,
    vector: vector && { model: vector.model, body: Uint8Array.from(bytesOf(vector.values)) },
    again,
  };
}

/** Why a write would be refused. */
function staleIn(connection: Connection, { item, based }: Prepared): MemoryWritten["refused"] {
  const newest = newestOf(connection, item.uri);
  if ((newest?.version ?? 0) === based || writtenBy(connection, item) !== undefined) return [];
  return [{ item, current: newest && recordOf(connection, newest) }];
}

function apply(connection: Connection, writes: readonly Prepared[]): MemoryWritten {
  const written: MemoryRecord[] = [];
  const refused: MemoryWritten["refused"][number][] = [];
  const before = newestRevision(connection);
  const totals = { ...totalsAt(connection, before) };
  let added = false;
  for (const write of writes) {
    const known = writtenBy(connection, write.item);
    const newest = newestOf(connection, write.item.uri);
    if (known !== undefined) written.push(recordOf(connection, known));
    else if ((newest?.version ?? 0) !== write.based) refused.push({ item: write.item, current: newest && recordOf(connection, newest) });
    else {
      insert(connection, write, before + 1, newest);
      if (newest?.state === "published") count(totals, -1, newest.length);
      if (write.item.state === "published") count(totals, 1, write.length);
      written.push(recordOf(connection, { body: write.body, revision: before + 1 }));
      added = true;
    }
  }
  const { tenant, project } = connection;
  if (added)
    connection
      .statement("INSERT INTO revisions (tenant, project, revision, documents, length) VALUES (?, ?, ?, ?, ?)")
      .run(tenant, project, before + 1, totals.documents, totals.length);
  // A write that was made before has the revision that it had then.
  return { revision: written.reduce((last, one) => Math.max(last, one.revision), written.length > 0 ? 0 : before), written, refused };
}

function count(totals: { documents: number; length: number }, by: 1 | -1, length: number): void {
  totals.documents += by;
  totals.length += by * length;
}

function writtenBy(connection: Connection, { uri, event }: MemoryItem): BodyRow | undefined {
  return connection
    .statement<BodyRow>(
      "SELECT i.revision, b.body FROM items i JOIN bodies b ON b.no = i.no WHERE i.tenant = ? AND i.project = ? AND i.event = ? AND i.uri = ?",
    )
    .get(connection.tenant, connection.project, event, uri);
}

function newestOf(connection: Connection, uri: string): Newest | undefined {
  return connection
    .statement<Newest>(
      `SELECT i.no, i.version, i.state, i.length, i.revision, b.body FROM items i JOIN bodies b ON b.no = i.no
       WHERE i.tenant = ? AND i.project = ? AND i.uri = ? AND i.until IS NULL`,
    )
    .get(connection.tenant, connection.project, uri);
}

function insert(connection: Connection, write: Prepared, revision: number, before?: Newest): void {
  const { item, body, words, length, indexed, vector, again } = write;
  const { tenant, project } = connection;
  if (before !== undefined) connection.statement("UPDATE items SET until = ? WHERE no = ?").run(revision, before.no);
  const expiry = expiryOf(item);
  const { no } = connection
    .statement<{ no: number }>(
      `INSERT INTO items (tenant, project, revision, uri, version, key, state, origin, trust, event, at, expires, length)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING no`,
    )
    .get(
      ...[tenant, project, revision, item.uri, item.version, item.key, item.state, item.origin, item.trust, item.event, item.at],
      ...[Number.isFinite(expiry) ? expiry : null, length],
    ) as { no: number };
  connection.statement("INSERT INTO bodies (no, words, body) VALUES (?, ?, ?)").run(no, words, body);
  if (indexed !== undefined)
    connection.statement("INSERT INTO word_index (rowid, key, content) VALUES (?, ?, ?)").run(no, indexed.key, indexed.content);
  if (vector !== undefined)
    connection
      .statement("INSERT INTO vectors (no, tenant, project, model, body) VALUES (?, ?, ?, ?, ?)")
      .run(no, tenant, project, vector.model, vector.body);
  else if (again !== undefined)
    connection
      .statement(
        `INSERT INTO vectors (no, tenant, project, model, body) SELECT ?, v.tenant, v.project, v.model, v.body
         FROM items i JOIN vectors v ON v.no = i.no WHERE i.tenant = ? AND i.project = ? AND i.uri = ? AND i.version = ?`,
      )
      .run(no, tenant, project, item.uri, again);
  const evidence = connection.statement("INSERT INTO evidence (tenant, project, kind, name, no) VALUES (?, ?, ?, ?, ?)");
  for (const name of new Set(item.because)) evidence.run(tenant, project, "because", name, no);
  for (const name of readNames(item.from)) evidence.run(tenant, project, "from", name, no);
}

/** Not synced by itself: what is lost in a power cut is an index of what sessions say anyway. */
export async function noteUses(connection: Connection, uses: readonly MemoryUse[]): Promise<void> {
  if (uses.length === 0) return;
  const { tenant, project } = connection;
  await connection.patiently(() =>
    connection.transaction(false, () => {
      const insert = connection.statement(
        "INSERT OR IGNORE INTO uses (tenant, project, uri, version, session, event, at) VALUES (?, ?, ?, ?, ?, ?, ?)",
      );
      for (const { uri, version, session, event, at } of uses) insert.run(tenant, project, uri, version, session, event, at);
    }),
  );
}
