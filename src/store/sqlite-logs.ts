/** The list of logs: one row each, written with the first events and never changed. */
import { crc32 } from "node:zlib";
import type { Connection } from "../sqlite/connection.ts";
import type { SqlValue } from "../sqlite/driver.ts";
import { corrupt } from "../sqlite/open.ts";
import type { Frames } from "./sqlite-frames.ts";
import type { LogAbout, LogQuery, LogRow } from "./store.ts";

interface Row {
  readonly no: number;
  readonly id: string;
  readonly log: LogAbout["log"];
  readonly parent: string | null;
  readonly run: string | null;
  readonly title: string | null;
  readonly tags: string;
  readonly principal: string | null;
  readonly created: number;
  readonly seal: number;
}

const pageRows = 64;

/** The number of a log; undefined while it does not exist. */
export function findLog(connection: Connection, id: string): number | undefined {
  const { tenant, project } = connection;
  return connection.statement<{ no: number }>("SELECT no FROM logs WHERE tenant = ? AND project = ? AND id = ?").get(tenant, project, id)
    ?.no;
}

/** Adds a log and returns its number. */
export function addLog(connection: Connection, id: string, run: string | undefined, about: LogAbout): number {
  const { tenant, project } = connection;
  const row = {
    id,
    log: about.log,
    parent: about.parent ?? null,
    run: run ?? null,
    title: about.title ?? null,
    tags: JSON.stringify(about.tags ?? []),
    principal: about.principal ?? null,
    created: connection.clock(),
  };
  const added = connection
    .statement<{ no: number }>(
      "INSERT INTO logs (tenant, project, id, log, parent, run, title, tags, principal, created, seal) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING no",
    )
    .get(tenant, project, row.id, row.log, row.parent, row.run, row.title, row.tags, row.principal, row.created, sealOf(connection, row));
  return (added as { no: number }).no;
}

/** Logs in order of creation, a page at a time. After an unknown log come none. */
export async function* logPages(connection: Connection, frames: Frames, query: LogQuery): AsyncGenerator<LogRow[], void> {
  const { sql, values } = logSql(connection, query);
  const { after } = query;
  let last = after === undefined ? 0 : await connection.patiently(() => findLog(connection, after));
  while (last !== undefined) {
    const from = last;
    const page = await connection.patiently(() => {
      const rows = connection.statement<Row>(sql).all(from, ...values);
      return { logs: rows.map((row) => logRow(connection, frames, row)), last: rows.length < pageRows ? undefined : rows.at(-1)?.no };
    });
    yield page.logs;
    last = page.last;
  }
}

function logSql({ tenant, project }: Connection, { id, parent, run, tag, log }: LogQuery): { sql: string; values: SqlValue[] } {
  // The logs of a run are few: they are found by the run, and not among all of the project (which is what the + is for).
  const where = run === undefined ? ["no > ?", "tenant = ?", "project = ?"] : ["no > ?", "+tenant = ?", "+project = ?"];
  const values: SqlValue[] = [tenant, project];
  const also = (condition: string, ...more: SqlValue[]): void => {
    where.push(condition);
    values.push(...more);
  };
  if (id !== undefined) also("id >= ? AND id < ? || char(1114111)", id, id);
  if (parent !== undefined) also("parent = ?", parent);
  if (run !== undefined) also("no IN (SELECT log FROM writers WHERE tenant = ? AND project = ? AND run = ?)", tenant, project, run);
  if (tag !== undefined) also("EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ?)", tag);
  if (log !== undefined) also("log = ?", log);
  return {
    sql: `SELECT no, id, log, parent, run, title, tags, principal, created, seal FROM logs WHERE ${where.join(" AND ")} ORDER BY no LIMIT ${pageRows}`,
    values,
  };
}

function logRow(connection: Connection, frames: Frames, row: Row): LogRow {
  if (row.seal !== sealOf(connection, row)) throw corrupt(connection.path, `what it says of log ${row.id} does not match its checksum`);
  const last = frames.lastOf(row.no);
  if (last === undefined) throw corrupt(connection.path, `log ${row.id} has no events`);
  return {
    id: row.id,
    head: frames.end(last).head,
    run: row.run ?? undefined,
    log: row.log,
    parent: row.parent ?? undefined,
    title: row.title ?? undefined,
    tags: JSON.parse(row.tags) as string[],
    principal: row.principal ?? undefined,
  };
}

function sealOf({ tenant, project }: Connection, row: Omit<Row, "no" | "seal">): number {
  return crc32(JSON.stringify([tenant, project, row.id, row.log, row.parent, row.run, row.title, row.tags, row.principal, row.created]));
}
