/** Lists of versions and of uses, a page at a time. */
import type { MemoryListQuery, MemoryRecord, MemoryUse } from "./memory.ts";
import { type BodyRow, Conditions, nameOf, type Place, projectAt, recordOf, storable, wholeRevision } from "./postgres-rows.ts";

const pageRows = 256;

/** In the order of their numbers, which is that of their revisions. What is written after the first page is not seen. */
export async function* listPages(place: Place, query: MemoryListQuery, now: number): AsyncGenerator<readonly MemoryRecord[], void> {
  const project = await projectAt(place);
  if (project === undefined) return;
  const where = conditions(query, project.id, project.newest, now);
  const [after, order] = query.newestFirst === true ? ["<", "DESC"] : [">", "ASC"];
  const last = where.bind(undefined);
  const sql = `SELECT i.no, i.revision, (SELECT b.body FROM openrath.memory_bodies b WHERE b.project = i.project AND b.no = i.no) AS body
    FROM openrath.memory_items i WHERE ${where} AND i.no ${after} ${last}::bigint ORDER BY i.no ${order} LIMIT ${pageRows}`;
  let from: string | number | undefined = query.newestFirst === true ? Number.MAX_SAFE_INTEGER : 0;
  while (from !== undefined) {
    const rows: readonly (BodyRow & { readonly no: string })[] = await place.ask(sql, [...where.values.slice(0, -1), from]);
    yield rows.map((row) => recordOf(place, row));
    from = rows.length < pageRows ? undefined : rows.at(-1)?.no;
  }
}

function conditions(query: MemoryListQuery, project: string, newest: number, now: number): Conditions {
  const { uri, key, within, asOf = newest, state, alive, events, because, from } = query;
  const where = new Conditions();
  const owner = where.bind(project);
  const revision = where.bind(asOf === "all" ? newest : Math.min(wholeRevision(asOf), newest));
  where.add(`i.project = ${owner} AND i.revision <= ${revision}`);
  if (asOf !== "all") where.add(`(i.until IS NULL OR i.until > ${revision})`);
  if (uri !== undefined) where.add(`i.name = ${where.bind(nameOf(uri))}`);
  if (key !== undefined) where.add(`i.key = ${where.bind(nameOf(key))}`);
  if (within !== undefined) where.add(beginsWith(where, within));
  if (state !== undefined) where.add(`i.state = ${where.bind(state)}`);
  if (alive === true) where.add(`(i.expires IS NULL OR i.expires > ${where.bind(now)})`);
  if (events !== undefined) where.add(`i.event = ANY (${where.bind(events.map(nameOf))}::text[])`);
  const named = (kind: string, name: string) =>
    `i.no IN (SELECT e.no FROM openrath.memory_evidence e WHERE e.project = ${owner} AND e.kind = '${kind}' AND e.name = ${where.bind(nameOf(name))})`;
  if (because !== undefined) where.add(named("because", because));
  if (from !== undefined) where.add(named("from", from));
  return where;
}

/** Not LIKE, which knows wildcards. */
export function beginsWith(where: Conditions, within: readonly string[]): string {
  return `i.uri ^@ ANY (${where.bind(within.map(storable))}::text[])`;
}

/** Of any version of an item, oldest first. */
export async function* usePages(place: Place, uri: string): AsyncGenerator<readonly MemoryUse[], void> {
  const project = await projectAt(place);
  if (project === undefined) return;
  const sql = `SELECT no, at, body FROM openrath.memory_uses
    WHERE project = $1 AND name = $2 AND (at, no) > ($3, $4::bigint) ORDER BY at, no LIMIT ${pageRows}`;
  let last: { readonly at: string; readonly no: string } | undefined = { at: "", no: "0" };
  while (last !== undefined) {
    const rows: readonly { readonly at: string; readonly no: string; readonly body: string }[] = await place.ask(sql, [
      ...[project.id, nameOf(uri), last.at, last.no],
    ]);
    yield rows.map(({ body }) => JSON.parse(body) as MemoryUse);
    last = rows.length < pageRows ? undefined : rows.at(-1);
  }
}
