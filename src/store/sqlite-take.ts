/** Taking runs that are due. Looking reads indexes alone, so that idle workers disturb nobody. */
import type { Connection } from "../sqlite/connection.ts";
import { columns, isoTime, type Row, runRow, takeOver } from "./sqlite-runs.ts";
import type { TakenRun, TakeQuery } from "./store.ts";

const ours = "tenant = ? AND project = ?";

/** The most urgent that are due and that the worker knows, each with a lease for it. Without any the file is only read. */
export async function takeRuns(connection: Connection, query: TakeQuery, worker: string, forMs: number): Promise<TakenRun[]> {
  const known = [...new Set(query.workflows)];
  const limit = Math.min(Math.floor(query.limit), Number.MAX_SAFE_INTEGER);
  const anyDue = () => dueRuns(connection, known, Math.min(limit, 1), connection.clock()).length > 0;
  if (!(await connection.patiently(anyDue))) return [];
  const take = (): TakenRun[] => {
    const now = connection.clock();
    return dueRuns(connection, known, limit, now).map((row) => {
      const lease = takeOver(connection, row, worker, now, forMs);
      return { row: { ...runRow({ ...row, woken_at: null }, now), owner: worker }, lease };
    });
  };
  return connection.patiently(() => connection.transaction(true, take));
}

/** No more than `limit`, the most urgent first. */
function dueRuns(connection: Connection, workflows: readonly string[], limit: number, now: number): Row[] {
  if (!(limit > 0)) return [];
  return workflows
    .flatMap((workflow) => [...freeRuns(connection, workflow, limit, now), ...expiredRuns(connection, workflow, limit, now)])
    .sort((a, b) => b.priority - a.priority || byTime(a, b))
    .slice(0, limit);
}

/**
 * Those nobody holds. One level of priority after the other: within a level the index is in order of time, so that neither a long
 * backlog nor many that wait for a later time are ever read through.
 */
function freeRuns(connection: Connection, workflow: string, limit: number, now: number): Row[] {
  const { tenant, project } = connection;
  const free = `${ours} AND workflow = ? AND owner IS NULL AND due_at IS NOT NULL`;
  const highest = connection.statement<Level>(`SELECT max(priority) AS priority FROM runs WHERE ${free}`);
  const next = connection.statement<Level>(`SELECT max(priority) AS priority FROM runs WHERE ${free} AND priority < ?`);
  const due = connection.statement<Row>(
    `SELECT ${columns} FROM runs WHERE ${free} AND priority = ? AND due_at <= ? ORDER BY due_at LIMIT ?`,
  );
  const rows: Row[] = [];
  let priority = highest.get(tenant, project, workflow)?.priority ?? null;
  while (priority !== null && rows.length < limit) {
    rows.push(...due.all(tenant, project, workflow, priority, isoTime(now), limit - rows.length));
    priority = next.get(tenant, project, workflow, priority)?.priority ?? null;
  }
  return rows;
}

/** Those whose holder let its lease run out: few, as only the dead do that. */
function expiredRuns(connection: Connection, workflow: string, limit: number, now: number): Row[] {
  return connection
    .statement<Row>(
      `SELECT ${columns} FROM runs WHERE ${ours} AND owner IS NOT NULL AND lease_expires <= ? AND workflow = ? AND due_at <= ?
       ORDER BY priority DESC, due_at LIMIT ?`,
    )
    .all(connection.tenant, connection.project, now, workflow, isoTime(now), limit);
}

interface Level {
  readonly priority: number | null;
}

function byTime(a: Row, b: Row): number {
  const [left, right] = [a.due_at ?? "", b.due_at ?? ""];
  if (left === right) return a.no - b.no;
  return left < right ? -1 : 1;
}
