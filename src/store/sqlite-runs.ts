/** Runs and their leases. One row holds both, so that an append reads the epoch where a claim raises it. */
import { RathError } from "../session/errors.ts";
import type { Connection } from "../sqlite/connection.ts";
import type { SqlValue } from "../sqlite/driver.ts";
import type { Lease, RunQuery, RunRow, TakenRun } from "./store.ts";

interface Row {
  readonly no: number;
  readonly id: string;
  readonly key: string | null;
  readonly session: string;
  readonly workflow: string;
  readonly status: string;
  readonly wake_at: string | null;
  readonly owner: string | null;
  readonly lease_expires: number | null;
  readonly priority: number;
  readonly woken_at: string | null;
  readonly epoch: number;
}

const columns = "no, id, key, session, workflow, status, wake_at, owner, lease_expires, priority, woken_at, epoch";
const pageRows = 64;
const ours = "tenant = ? AND project = ? AND id = ?";

/** The epoch appends are checked against; undefined for a run without a row. */
export function epochOf(connection: Connection, run: string): number | undefined {
  const { tenant, project } = connection;
  return connection.statement<{ epoch: number }>(`SELECT epoch FROM runs WHERE ${ours}`).get(tenant, project, run)?.epoch;
}

/** The error of a run whose key another run has. */
export function keyConflict(connection: Connection, run: RunRow): RathError | undefined {
  if (run.key === undefined) return undefined;
  const { tenant, project } = connection;
  const holder = connection
    .statement<{ id: string }>("SELECT id FROM runs WHERE tenant = ? AND project = ? AND key = ?")
    .get(tenant, project, run.key)?.id;
  if (holder === undefined || holder === run.id) return undefined;
  return new RathError(
    "store.conflict",
    `Run ${run.id} was not stored: its key "${run.key}" belongs to run ${holder}. Use that run, or another key.`,
    { details: { run: run.id, key: run.key, holder } },
  );
}

/** Part of an append. Owner and epoch of a row that is there stay as they are, and so does that it was woken. */
export function putRun(connection: Connection, run: RunRow): void {
  const { tenant, project } = connection;
  connection
    .statement(
      `INSERT INTO runs (tenant, project, id, key, session, workflow, status, wake_at, priority, epoch) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0)
       ON CONFLICT (tenant, project, id) DO UPDATE SET key = excluded.key, session = excluded.session, workflow = excluded.workflow,
         status = excluded.status, wake_at = excluded.wake_at, priority = excluded.priority`,
    )
    .run(tenant, project, run.id, run.key ?? null, run.session, run.workflow, run.status, run.wakeAt ?? null, run.priority ?? 0);
}

/** Part of an append. A run that was woken before keeps its earlier time, and so its place. */
export function wakeRun(connection: Connection, run: string): void {
  const { tenant, project, clock } = connection;
  connection.statement(`UPDATE runs SET woken_at = ? WHERE ${ours} AND woken_at IS NULL`).run(isoTime(clock()), tenant, project, run);
}

/** Raises the epoch unless somebody else's lease lasts. An unknown run cannot be claimed. */
export function claimRun(connection: Connection, run: string, worker: string, forMs: number, from: string | undefined): Lease | undefined {
  const { tenant, project } = connection;
  const now = connection.clock();
  const row = connection.statement<Row>(`SELECT ${columns} FROM runs WHERE ${ours}`).get(tenant, project, run);
  if (row === undefined) return undefined;
  const holder = holderOf(row, now);
  if (holder !== undefined && holder !== worker && holder !== from) return undefined;
  const abandoned = row.owner !== null && (row.owner !== worker || holder === undefined);
  return takeOver(connection, row.no, worker, { now, forMs, abandoned }).lease;
}

interface Takeover {
  readonly now: number;
  readonly forMs: number;
  readonly abandoned: boolean;
}

/** Part of a transaction that has found the run free. */
export function takeOver(connection: Connection, no: number, worker: string, { now, forMs, abandoned }: Takeover): TakenRun {
  const taken = connection
    .statement<Row & LeaseRow>(
      `UPDATE runs SET owner = ?, epoch = epoch + 1, lease_expires = ?, woken_at = NULL WHERE no = ? RETURNING ${columns}`,
    )
    .get(worker, now + forMs, no) as Row & LeaseRow;
  return { row: runRow(taken, now), lease: abandoned ? { ...leaseOf(taken), abandoned } : leaseOf(taken) };
}

/** Also after it expired, as long as nobody took over. */
export function renewLease(connection: Connection, lease: Lease, forMs: number): Lease | undefined {
  const { tenant, project, clock } = connection;
  const renewed = connection
    .statement<LeaseRow>(
      `UPDATE runs SET lease_expires = ?, woken_at = NULL WHERE ${ours} AND epoch = ? AND owner IS NOT NULL RETURNING id, epoch, lease_expires`,
    )
    .get(clock() + forMs, tenant, project, lease.run, lease.epoch);
  return renewed && leaseOf(renewed);
}

/** Nothing happens if it was taken over. */
export function releaseLease(connection: Connection, lease: Lease): void {
  const { tenant, project } = connection;
  connection
    .statement(`UPDATE runs SET owner = NULL, lease_expires = NULL WHERE ${ours} AND epoch = ?`)
    .run(tenant, project, lease.run, lease.epoch);
}

/** Runs in order of creation, a page at a time. */
export async function* runPages(connection: Connection, query: RunQuery): AsyncGenerator<RunRow[], void> {
  const { id, status, key, session, workflow, dueBefore, owner, woken, after, newestFirst } = query;
  const where = [newestFirst === true ? "no < ?" : "no > ?", "tenant = ?", "project = ?"];
  const values: SqlValue[] = [connection.tenant, connection.project];
  const also = (condition: string, value: SqlValue | undefined): void => {
    if (value === undefined) return;
    where.push(condition);
    values.push(value);
  };
  also("id = ?", id);
  if (typeof status === "string") also("status = ?", status);
  else also("status IN (SELECT value FROM json_each(?))", status && JSON.stringify(status));
  also("key = ?", key);
  if (typeof session === "string") also("session = ?", session);
  else also("session IN (SELECT value FROM json_each(?))", session && JSON.stringify(session));
  also("workflow = ?", workflow);
  also("wake_at < ?", dueBefore);
  also("owner = ?", owner);
  also("lease_expires > ?", owner === undefined ? undefined : connection.clock());
  if (woken) where.push("woken_at IS NOT NULL");
  const sql = `SELECT ${columns} FROM runs WHERE ${where.join(" AND ")} ORDER BY no ${newestFirst === true ? "DESC" : "ASC"} LIMIT ${pageRows}`;
  const first = newestFirst === true ? Number.MAX_SAFE_INTEGER : 0;
  let last: number | undefined = after === undefined ? first : await connection.patiently(() => numberOf(connection, after));
  while (last !== undefined) {
    const from: number = last;
    const rows = await connection.patiently(() => connection.statement<Row>(sql).all(from, ...values));
    yield rows.map((row) => runRow(row, connection.clock()));
    last = rows.length < pageRows ? undefined : rows.at(-1)?.no;
  }
}

function numberOf(connection: Connection, run: string): number | undefined {
  const { tenant, project } = connection;
  return connection.statement<{ no: number }>(`SELECT no FROM runs WHERE ${ours}`).get(tenant, project, run)?.no;
}

interface LeaseRow {
  readonly id: string;
  readonly epoch: number;
  readonly lease_expires: number;
}

function leaseOf(row: LeaseRow): Lease {
  return { run: row.id, epoch: row.epoch, expires: isoTime(row.lease_expires) };
}

/** Whose lease lasts. */
function holderOf({ owner, lease_expires }: Row, now: number): string | undefined {
  return owner !== null && lease_expires !== null && lease_expires > now ? owner : undefined;
}

function runRow(row: Row, now: number): RunRow {
  return {
    id: row.id,
    key: row.key ?? undefined,
    session: row.session,
    workflow: row.workflow,
    status: row.status,
    wakeAt: row.wake_at ?? undefined,
    owner: holderOf(row, now),
    ...(row.priority === 0 ? {} : { priority: row.priority }),
    ...(row.epoch === 0 ? {} : { claimed: true }),
    ...(row.woken_at === null ? {} : { woken: true }),
  };
}

export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
