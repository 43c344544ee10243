/** Runs and their leases. One row holds both, so that an append reads the epoch where a claim raises it. */
import { RathError } from "../session/errors.ts";
import type { Connection } from "../sqlite/connection.ts";
import type { SqlValue } from "../sqlite/driver.ts";
import type { Lease, RunQuery, RunRow } from "./store.ts";

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
}

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

/** Part of an append. Owner and epoch of a row that is there stay as they are. */
export function putRun(connection: Connection, run: RunRow): void {
  const { tenant, project } = connection;
  connection
    .statement(
      `INSERT INTO runs (tenant, project, id, key, session, workflow, status, wake_at, epoch) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0)
       ON CONFLICT (tenant, project, id) DO UPDATE SET key = excluded.key, session = excluded.session, workflow = excluded.workflow, status = excluded.status, wake_at = excluded.wake_at`,
    )
    .run(tenant, project, run.id, run.key ?? null, run.session, run.workflow, run.status, run.wakeAt ?? null);
}

/** Raises the epoch unless somebody else's lease lasts. An unknown run cannot be claimed. */
export function claimRun(connection: Connection, run: string, worker: string, forMs: number, from: string | undefined): Lease | undefined {
  const { tenant, project } = connection;
  const now = connection.clock();
  return leaseOf(
    connection
      .statement<LeaseRow>(
        `UPDATE runs SET owner = ?, epoch = epoch + 1, lease_expires = ?
         WHERE ${ours} AND (owner IS NULL OR owner = ? OR owner = ? OR lease_expires <= ?) RETURNING id, epoch, lease_expires`,
      )
      .get(worker, now + forMs, tenant, project, run, worker, from ?? worker, now),
  );
}

/** Also after it expired, as long as nobody took over. */
export function renewLease(connection: Connection, lease: Lease, forMs: number): Lease | undefined {
  const { tenant, project, clock } = connection;
  return leaseOf(
    connection
      .statement<LeaseRow>(
        `UPDATE runs SET lease_expires = ? WHERE ${ours} AND epoch = ? AND owner IS NOT NULL RETURNING id, epoch, lease_expires`,
      )
      .get(clock() + forMs, tenant, project, lease.run, lease.epoch),
  );
}

/** Nothing happens if it was taken over. */
export function releaseLease(connection: Connection, lease: Lease): void {
  const { tenant, project } = connection;
  connection
    .statement(`UPDATE runs SET owner = NULL, lease_expires = NULL WHERE ${ours} AND epoch = ?`)
    .run(tenant, project, lease.run, lease.epoch);
}

/** Runs in order of creation, a page at a time. */
export async function* runPages(connection: Connection, { id, status, key, dueBefore }: RunQuery): AsyncGenerator<RunRow[], void> {
  const where = ["no > ?", "tenant = ?", "project = ?"];
  const values: SqlValue[] = [connection.tenant, connection.project];
  const also = (condition: string, value: string | undefined): void => {
    if (value === undefined) return;
    where.push(condition);
    values.push(value);
  };
  also("id = ?", id);
  also("status = ?", status);
  also("key = ?", key);
  also("wake_at < ?", dueBefore);
  const sql = `SELECT no, id, key, session, workflow, status, wake_at, owner, lease_expires FROM runs WHERE ${where.join(" AND ")} ORDER BY no LIMIT ${pageRows}`;
  let last: number | undefined = 0;
  while (last !== undefined) {
    const from: number = last;
    const rows = await connection.patiently(() => connection.statement<Row>(sql).all(from, ...values));
    yield rows.map((row) => runRow(row, connection.clock()));
    last = rows.length < pageRows ? undefined : rows.at(-1)?.no;
  }
}

interface LeaseRow {
  readonly id: string;
  readonly epoch: number;
  readonly lease_expires: number;
}

function leaseOf(row: LeaseRow | undefined): Lease | undefined {
  return row && { run: row.id, epoch: row.epoch, expires: new Date(row.lease_expires).toISOString() };
}

function runRow(row: Row, now: number): RunRow {
  const held = row.lease_expires !== null && row.lease_expires > now;
  return {
    id: row.id,
    key: row.key ?? undefined,
    session: row.session,
    workflow: row.workflow,
    status: row.status,
    wakeAt: row.wake_at ?? undefined,
    owner: held ? (row.owner ?? undefined) : undefined,
  };
}
