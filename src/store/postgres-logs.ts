/** The list of logs: one row each, written with the first events and never changed. */
import type { Connection } from "../postgres/connection.ts";
import { ms } from "./postgres-runs.ts";
import type { LogAbout, LogQuery, LogRow } from "./store.ts";

interface Row {
  readonly no: number;
  readonly id: string;
  readonly head: string;
  readonly log: LogAbout["log"];
  readonly parent: string | null;
  readonly run: string | null;
  readonly title: string | null;
  readonly tags: string[];
  readonly principal: string | null;
  readonly created: number;
}

const pageRows = 64;
const head = "(SELECT encode(f.head, 'hex') FROM openrath.frames f WHERE f.log = l.no ORDER BY f.seq DESC LIMIT 1) AS head";

/** Logs in order of creation or the newest first, a page at a time. After an unknown log come none. */
export async function* logPages(connection: Connection, query: LogQuery, project = connection.project): AsyncGenerator<LogRow[], void> {
  const { sql, values } = logSql(query);
  let last: number | undefined =
    query.after === undefined
      ? query.newestFirst === true
        ? Number.MAX_SAFE_INTEGER
        : 0
      : await numberOf(connection, project, query.after);
  while (last !== undefined) {
    const rows: Row[] = await connection.read<Row>(sql, [connection.tenant, project, last, ...values]);
    yield rows.map(logRow);
    last = rows.length < pageRows ? undefined : rows.at(-1)?.no;
  }
}

/** How many sessions continue each of these. */
export async function countBranches(connection: Connection, parents: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const sql = `SELECT parent, count(*)::float8 AS count FROM openrath.logs
    WHERE tenant = $1 AND project = $2 AND parent = ANY ($3::text[]) AND log = 'session' GROUP BY parent`;
  const rows = await connection.read<{ parent: string; count: number }>(sql, [connection.tenant, connection.project, [...parents]]);
  return new Map(rows.map(({ parent, count }) => [parent, count]));
}

async function numberOf(connection: Connection, project: string, id: string): Promise<number | undefined> {
  const sql = "SELECT no::float8 AS no FROM openrath.logs WHERE tenant = $1 AND project = $2 AND id = $3";
  return (await connection.read<{ no: number }>(sql, [connection.tenant, project, id]))[0]?.no;
}

function logSql({ id, parent, except, run, tag, log, newestFirst = false }: LogQuery): {
  sql: string;
  values: (string | readonly string[])[];
} {
  const where = ["l.tenant = $1", "l.project = $2", newestFirst ? "l.no < $3" : "l.no > $3"];
  const values: (string | readonly string[])[] = [];
  const also = (value: string | readonly string[] | undefined, condition: (place: string) => string): void => {
    if (value === undefined) return;
    values.push(value);
    where.push(condition(`$${values.length + 3}`));
  };
  also(id, (place) => `l.id >= ${place} AND l.id < ${place} || chr(1114111)`);
  also(parent, (place) => (typeof parent === "string" ? `l.parent = ${place}` : `l.parent = ANY (${place})`));
  also(except, (place) => `l.id <> ALL (${place})`);
  also(run, (place) => `l.no IN (SELECT w.log FROM openrath.frames w WHERE w.run = ${place})`);
  also(tag, (place) => `${place} = ANY (l.tags)`);
  also(log, (place) => `l.log = ${place}`);
  const columns = `l.no::float8 AS no, l.id, l.log, l.parent, l.run, l.title, l.tags, l.principal, ${ms("l.created")} AS created, ${head}`;
  return {
    sql: `SELECT ${columns} FROM openrath.logs l WHERE ${where.join(" AND ")} ORDER BY l.no${newestFirst ? " DESC" : ""} LIMIT ${pageRows}`,
    values,
  };
}

function logRow(row: Row): LogRow {
  return {
    id: row.id,
    head: row.head,
    run: row.run ?? undefined,
    log: row.log,
    parent: row.parent ?? undefined,
    title: row.title ?? undefined,
    tags: row.tags,
    principal: row.principal ?? undefined,
    created: new Date(row.created).toISOString(),
  };
}
