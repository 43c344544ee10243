/** Taking runs that are due. Looking reads indexes alone, so that idle workers disturb nobody. */
import type { Connection } from "../sqlite/connection.ts";
import { isoTime, takeOver } from "./sqlite-runs.ts";
import type { TakenRun, TakeQuery } from "./store.ts";

/** A run that may be taken, as the indexes know it. */
interface Due {
  readonly no: number;
  readonly priority: number;
  readonly due_at: string;
  /** Its holder let the lease run out. */
  readonly abandoned: 0 | 1;
}

/** So many that are due are compared with one another; more are a backlog, of which only the most urgent are read. */
const few = 64;

const free = "tenant = ? AND project = ? AND workflow = ? AND owner IS NULL AND due_at IS NOT NULL";

/** The most urgent that are due and that the worker knows, each with a lease for it. Without any the file is only read. */
export async function takeRuns(connection: Connection, query: TakeQuery, worker: string, forMs: number): Promise<TakenRun[]> {
  const workflows = [...new Set(query.workflows)];
  const limit = Math.min(Math.floor(query.limit), Number.MAX_SAFE_INTEGER);
  if (!(limit > 0)) return [];
  const look = (): boolean => dueRuns(connection, workflows, 1, connection.clock()).length > 0;
  if (!(await connection.patiently(look))) return [];
  const take = (): TakenRun[] => {
    const now = connection.clock();
    const found = dueRuns(connection, workflows, limit, now);
    return found.map(({ no, abandoned }) => takeOver(connection, no, worker, { now, forMs, abandoned: abandoned === 1 }));
  };
  return connection.patiently(() => connection.transaction(false, take));
}

/** No more than `limit`, the most urgent first. */
function dueRuns(connection: Connection, workflows: readonly string[], limit: number, now: number): Due[] {
  const found = [...expired(connection, workflows, limit, now)];
  for (const { workflow, count } of counts(connection, workflows, now)) {
    if (count > few) found.push(...backlog(connection, workflow, limit, now));
    else if (count > 0) found.push(...theFew(connection, workflow, limit, now));
  }
  return found.sort((a, b) => b.priority - a.priority || byTime(a, b)).slice(0, limit);
}

/** How many of each workflow are due and free, counted no further than is asked. */
function counts(connection: Connection, workflows: readonly string[], now: number): { workflow: string; count: number }[] {
  return connection
    .statement<{ workflow: string; count: number }>(
      `SELECT value AS workflow, (SELECT count(*) FROM (SELECT 1 FROM runs INDEXED BY runs_free
         WHERE tenant = ? AND project = ? AND workflow = value AND owner IS NULL AND due_at <= ? LIMIT ${few + 1})) AS count
       FROM json_each(?)`,
    )
    .all(connection.tenant, connection.project, isoTime(now), JSON.stringify(workflows));
}

function theFew(connection: Connection, workflow: string, limit: number, now: number): Due[] {
  return connection
    .statement<Due>(
      `SELECT no, priority, due_at, 0 AS abandoned FROM runs INDEXED BY runs_free WHERE ${free} AND due_at <= ?
       ORDER BY priority DESC, due_at, no LIMIT ?`,
    )
    .all(connection.tenant, connection.project, workflow, isoTime(now), limit);
}

/** One level of priority after the other: within a level the index is in order of time, so that a backlog is never read through. */
function backlog(connection: Connection, workflow: string, limit: number, now: number): Due[] {
  const { tenant, project } = connection;
  const level = `SELECT max(priority) AS priority FROM runs INDEXED BY runs_urgent WHERE ${free}`;
  const highest = connection.statement<{ priority: number | null }>(level);
  const below = connection.statement<{ priority: number | null }>(`${level} AND priority < ?`);
  const due = connection.statement<Due>(
    `SELECT no, priority, due_at, 0 AS abandoned FROM runs INDEXED BY runs_urgent WHERE ${free} AND priority = ? AND due_at <= ?
     ORDER BY due_at, no LIMIT ?`,
  );
  const found: Due[] = [];
  let priority = highest.get(tenant, project, workflow)?.priority ?? null;
  while (priority !== null && found.length < limit) {
    found.push(...due.all(tenant, project, workflow, priority, isoTime(now), limit - found.length));
    priority = below.get(tenant, project, workflow, priority)?.priority ?? null;
  }
  return found;
}

/** Few, as only the dead let their leases run out; they are due since then, whatever their own time is. */
function expired(connection: Connection, workflows: readonly string[], limit: number, now: number): Due[] {
  return connection
    .statement<Omit<Due, "due_at"> & { readonly lease_expires: number }>(
      `SELECT no, priority, lease_expires, 1 AS abandoned FROM runs INDEXED BY runs_held
       WHERE tenant = ? AND project = ? AND owner IS NOT NULL AND lease_expires <= ?
         AND workflow IN (SELECT value FROM json_each(?))
       ORDER BY priority DESC, lease_expires, no LIMIT ?`,
    )
    .all(connection.tenant, connection.project, now, JSON.stringify(workflows), limit)
    .map(({ lease_expires, ...run }) => ({ ...run, due_at: isoTime(lease_expires) }));
}

function byTime(a: Due, b: Due): number {
  if (a.due_at === b.due_at) return a.no - b.no;
  return a.due_at < b.due_at ? -1 : 1;
}
