/** Lists of versions and of uses, a page at a time. */
import type { Connection } from "../sqlite/connection.ts";
import type { SqlValue } from "../sqlite/driver.ts";
import type { MemoryListQuery, MemoryRecord, MemoryUse } from "./memory.ts";
import { type BodyRow, newestRevision, recordOf } from "./sqlite-rows.ts";

const pageRows = 256;

/** In the order of their numbers, which is that of their revisions. What is written after the first page is not seen. */
export async function* listPages(
  connection: Connection,
  query: MemoryListQuery,
  now: number,
): AsyncGenerator<readonly MemoryRecord[], void> {
  const newest = await connection.patiently(() => newestRevision(connection));
  const { where, values } = conditions(connection, query, newest, now);
  const [after, order] = query.newestFirst === true ? ["<", "DESC"] : [">", "ASC"];
  const sql = `SELECT i.no, i.revision, b.body FROM items i JOIN bodies b ON b.no = i.no WHERE ${where} AND i.no ${after} ? ORDER BY i.no ${order} LIMIT ${pageRows}`;
  let last: number | undefined = query.newestFirst === true ? Number.MAX_SAFE_INTEGER : 0;
  while (last !== undefined) {
    const from: number = last;
    const rows = await connection.patiently(() => connection.statement<BodyRow & { readonly no: number }>(sql).all(...values, from));
    yield rows.map((row) => recordOf(connection, row));
    last = rows.length < pageRows ? undefined : rows.at(-1)?.no;
  }
}

function conditions(
  { tenant, project }: Connection,
  { uri, key, within, asOf, state, alive, events, because, from }: MemoryListQuery,
  newest: number,
  now: number,
): { readonly where: string; readonly values: readonly SqlValue[] } {
  const revision = typeof asOf === "number" ? Math.min(asOf, newest) : newest;
  // Where no index is narrow, the plus keeps SQLite from one that begins with the project: each page would sort all of it.
  const named = uri !== undefined || key !== undefined || events !== undefined;
  const where = named ? ["i.tenant = ?", "i.project = ?"] : ["+i.tenant = ?", "+i.project = ?"];
  where.push("i.revision <= ?");
  const values: SqlValue[] = [tenant, project, revision];
  const also = (condition: string, ...given: readonly SqlValue[]): void => {
    where.push(condition);
    values.push(...given);
  };
  if (asOf !== "all") also("(i.until IS NULL OR i.until > ?)", revision);
  if (uri !== undefined) also("i.uri = ?", uri);
  if (key !== undefined) also("i.key = ?", key);
  if (within !== undefined) also(beginsWith(within), ...within.flatMap((beginning) => [beginning, beginning]));
  if (state !== undefined) also("i.state = ?", state);
  if (alive === true) also("(i.expires IS NULL OR i.expires > ?)", now);
  if (events !== undefined) also("i.event IN (SELECT value FROM json_each(?))", JSON.stringify(events));
  const evidence = "i.no IN (SELECT no FROM evidence WHERE tenant = ? AND project = ? AND kind = ? AND name = ?)";
  if (because !== undefined) also(evidence, tenant, project, "because", because);
  if (from !== undefined) also(evidence, tenant, project, "from", from);
  return { where: where.join(" AND "), values };
}

/** Each beginning is bound twice. Not LIKE, which ignores case and knows wildcards. */
export function beginsWith(within: readonly string[]): string {
  if (within.length === 0) return "0";
  return `(${within.map(() => "substr(i.uri, 1, length(?)) = ?").join(" OR ")})`;
}

interface UseRow extends MemoryUse {
  readonly no: number;
}

/** Of any version of an item, oldest first. */
export async function* usePages(connection: Connection, uri: string): AsyncGenerator<readonly MemoryUse[], void> {
  const { tenant, project } = connection;
  const sql = `SELECT no, uri, version, session, event, at FROM uses
    WHERE tenant = ? AND project = ? AND uri = ? AND (at, no) > (?, ?) ORDER BY at, no LIMIT ${pageRows}`;
  let last: UseRow | undefined;
  do {
    const { at, no }: { at: string; no: number } = last ?? { at: "", no: 0 };
    const rows = await connection.patiently(() => connection.statement<UseRow>(sql).all(tenant, project, uri, at, no));
    yield rows.map(({ no: _, ...use }) => use);
    last = rows.length < pageRows ? undefined : rows.at(-1);
  } while (last !== undefined);
}
