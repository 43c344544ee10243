/** The list of logs: one row each, written with the first events and never changed. */
import { crc32 } from "node:zlib";
import { RathError } from "../session/errors.ts";
import type { Connection } from "../sqlite/connection.ts";
import type { SqlValue } from "../sqlite/driver.ts";
import { corrupt } from "../sqlite/open.ts";
import { hasSince } from "./sqlite-feed.ts";
import { type FrameRow, type Frames, perLog } from "./sqlite-frames.ts";
import type { LogAbout, LogPlace, LogQuery, LogRow, RemoveOptions } from "./store.ts";

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

const columns = "no, id, log, parent, run, title, tags, principal, created, seal";
const lastFrame = `(SELECT max(place) FROM frames WHERE place >= no * ${perLog} AND place < (no + 1) * ${perLog}) AS last`;
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
      `INSERT INTO logs (no, tenant, project, id, log, parent, run, title, tags, principal, created, seal)
       VALUES (${nextNumber("logs")}, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING no`,
    )
    .get(tenant, project, row.id, row.log, row.parent, row.run, row.title, row.tags, row.principal, row.created, sealOf(connection, row));
  return (added as { no: number }).no;
}

/** A number that no row has or had: other processes know rows by their numbers, also when those are gone. */
export function nextNumber(table: "logs" | "writers"): string {
  return `(SELECT max(ifnull((SELECT max(no) FROM ${table}), 0), ifnull((SELECT value FROM meta WHERE name = '${table}'), 0)) + 1)`;
}

/** Part of an erasure: what was said of a log with its first event is not said any more. */
export function forgetAbout(connection: Connection, no: number): void {
  const row = connection.statement<Row>(`SELECT ${columns} FROM logs WHERE no = ?`).get(no);
  if (row === undefined) return;
  const seal = sealOf(connection, { ...row, title: null, tags: "[]" });
  connection.statement("UPDATE logs SET title = NULL, tags = '[]', seal = ? WHERE no = ?").run(seal, no);
}

/** Removes logs and the rows of their runs in one transaction, if they are as they were said to be and nothing continues them. */
export function removeLogs(connection: Connection, frames: Frames, logs: readonly LogPlace[], { after }: RemoveOptions = {}): boolean {
  if (after !== undefined && hasSince(connection, after)) return false;
  const { tenant, project } = connection;
  const found = logs.map(({ session, head }) => ({ session, head, no: findLog(connection, session) }));
  const headOf = (no: number): string | undefined => {
    const last = frames.lastOf(no);
    return last && frames.end(last).head;
  };
  if (found.some(({ no, head }) => no === undefined || headOf(no) !== head)) return false;
  const ids = JSON.stringify(logs.map(({ session }) => session));
  const continued = connection
    .statement(
      "SELECT 1 FROM logs WHERE tenant = ? AND project = ? AND parent IN (SELECT value FROM json_each(?)) AND id NOT IN (SELECT value FROM json_each(?))",
    )
    .get(tenant, project, ids, ids);
  if (continued !== undefined) return false;
  for (const { session, no } of found as readonly { session: string; no: number }[]) {
    const range = [no * perLog, (no + 1) * perLog - 1] as const;
    for (const row of frames.between(...range, Number.MAX_SAFE_INTEGER))
      for (const [at, prefix] of frames.idPrefixes(row).entries())
        connection.statement("DELETE FROM event_ids WHERE prefix = ? AND place = ?").run(prefix, row.place + at);
    connection.statement("DELETE FROM frames WHERE place >= ? AND place <= ?").run(...range);
    connection.statement("DELETE FROM indexed WHERE log = ?").run(no);
    connection.statement("DELETE FROM runs WHERE tenant = ? AND project = ? AND id = ?").run(tenant, project, session);
    const written = connection.statement<{ no: number | null }>("SELECT max(no) AS no FROM writers WHERE log = ?").get(no)?.no;
    connection.statement("DELETE FROM writers WHERE log = ?").run(no);
    connection.statement("DELETE FROM logs WHERE no = ?").run(no);
    const gone = connection.statement(
      "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)",
    );
    gone.run("logs", no);
    gone.run("writers", written ?? 0);
  }
  return true;
}

/** As much of a row as changes when anything of it does, or of its log. */
interface Sketch extends Pick<Row, "no" | "seal"> {
  readonly last: number | null;
}

interface Page {
  readonly logs: readonly LogRow[];
  /** Where the next page begins; undefined when there is none. */
  readonly last: number | undefined;
}

const mostKnown = 10_000;
const mostPages = 1000;

/**
 * Rows that were read before. While nothing is written a page is as it was; when something is, most of its logs are, and only the others
 * are read again.
 */
export class LogRows {
  readonly #connection: Connection;
  readonly #frames: Frames;
  readonly #known = new Map<number, Sketch & { readonly row: LogRow }>();
  readonly #pages = new Map<string, Page>();
  /** Of the file when the pages were read. */
  #version = "";

  constructor(connection: Connection, frames: Frames) {
    this.#connection = connection;
    this.#frames = frames;
  }

  page(sql: string, values: readonly SqlValue[]): Page {
    const version = this.#connection.version();
    if (version !== this.#version || this.#pages.size >= mostPages) this.#pages.clear();
    this.#version = version;
    const name = sql + JSON.stringify(values);
    const page = this.#pages.get(name) ?? this.#read(sql, values);
    this.#pages.set(name, page);
    return page;
  }

  #read(sql: string, values: readonly SqlValue[]): Page {
    const sketches = this.#connection.statement<Sketch>(sql).all(...values);
    const logs = sketches.map((sketch) => this.#row(sketch)).filter((row) => row !== undefined);
    return { logs, last: sketches.length < pageRows ? undefined : sketches.at(-1)?.no };
  }

  /** Undefined when it was removed since. */
  #row({ no, seal, last }: Sketch): LogRow | undefined {
    const known = this.#known.get(no);
    if (known !== undefined && known.seal === seal && known.last === last) return known.row;
    const row = this.#connection.statement<Row>(`SELECT ${columns} FROM logs WHERE no = ?`).get(no);
    if (row === undefined) return undefined;
    const frame = this.#frames.lastOf(no);
    const read = logRow(this.#connection, this.#frames, row, frame);
    if (this.#known.size >= mostKnown) this.#known.clear();
    this.#known.set(no, { no, seal: row.seal, last: frame?.place ?? null, row: read });
    return read;
  }
}

/** Logs in order of creation or the newest first, a page at a time. After an unknown log come none. */
export async function* logPages(
  connection: Connection,
  frames: Frames,
  query: LogQuery,
  known = new LogRows(connection, frames),
): AsyncGenerator<readonly LogRow[], void> {
  const { sql, values } = logSql(connection, query);
  const { after, newestFirst = false } = query;
  let last =
    after === undefined ? (newestFirst ? Number.MAX_SAFE_INTEGER : 0) : await connection.patiently(() => findLog(connection, after));
  while (last !== undefined) {
    const from = last;
    const page = await connection.patiently(() => known.page(sql, [from, ...values]));
    yield page.logs;
    last = page.last;
  }
}

/** How many sessions continue each of these. */
export function countBranches(connection: Connection, parents: readonly string[]): ReadonlyMap<string, number> {
  const { tenant, project } = connection;
  const rows = connection
    .statement<{ parent: string; count: number }>(
      `SELECT parent, count(*) AS count FROM logs
       WHERE tenant = ? AND project = ? AND parent IN (SELECT value FROM json_each(?)) AND log = 'session' GROUP BY parent`,
    )
    .all(tenant, project, JSON.stringify(parents));
  return new Map(rows.map(({ parent, count }) => [parent, count]));
}

function logSql(
  { tenant, project }: Connection,
  { id, parent, except, run, tag, log, newestFirst = false }: LogQuery,
): { sql: string; values: SqlValue[] } {
  const beyond = newestFirst ? "no < ?" : "no > ?";
  // The logs of a run are few: they are found by the run, and not among all of the project (which is what the + is for).
  const where = run === undefined ? [beyond, "tenant = ?", "project = ?"] : [beyond, "+tenant = ?", "+project = ?"];
  const values: SqlValue[] = [tenant, project];
  const also = (condition: string, ...more: SqlValue[]): void => {
    where.push(condition);
    values.push(...more);
  };
  if (id !== undefined) also("id >= ? AND id < ? || char(1114111)", id, id);
  if (typeof parent === "string") also("parent = ?", parent);
  else if (parent !== undefined) also("parent IN (SELECT value FROM json_each(?))", JSON.stringify(parent));
  if (except !== undefined) also("id NOT IN (SELECT value FROM json_each(?))", JSON.stringify(except));
  if (run !== undefined) also("no IN (SELECT log FROM writers WHERE tenant = ? AND project = ? AND run = ?)", tenant, project, run);
  if (tag !== undefined) also("EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ?)", tag);
  if (log !== undefined) also("log = ?", log);
  return {
    sql: `SELECT no, seal, ${lastFrame} FROM logs WHERE ${where.join(" AND ")} ORDER BY no${newestFirst ? " DESC" : ""} LIMIT ${pageRows}`,
    values,
  };
}

function logRow(connection: Connection, frames: Frames, row: Row, last: FrameRow | undefined): LogRow {
  if (row.seal !== sealOf(connection, row)) throw corrupt(connection.path, `what it says of log ${row.id} does not match its checksum`);
  if (last === undefined) throw corrupt(connection.path, `log ${row.id} has no events`);
  return Object.freeze({
    id: row.id,
    head: headOf(frames, last),
    run: row.run ?? undefined,
    log: row.log,
    parent: row.parent ?? undefined,
    title: row.title ?? undefined,
    tags: JSON.parse(row.tags) as string[],
    principal: row.principal ?? undefined,
    created: new Date(row.created).toISOString(),
  });
}

/** Damage at the end of one log keeps nobody from the others: whoever reads that log is told. */
function headOf(frames: Frames, last: FrameRow): string {
  try {
    return frames.end(last).head;
  } catch (error) {
    if (RathError.is(error, "store.corrupt")) return "";
    throw error;
  }
}

function sealOf({ tenant, project }: Connection, row: Omit<Row, "no" | "seal">): number {
  return crc32(JSON.stringify([tenant, project, row.id, row.log, row.parent, row.run, row.title, row.tags, row.principal, row.created]));
}
