/** Runs and their leases. One row holds both, so that an append locks the epoch that a claim raises. Time is PostgreSQL's. */
import type { Connection } from "../postgres/connection.ts";
import type { Lease, RunQuery, RunRow, TakenRun, TakeQuery } from "./store.ts";

/** How far PostgreSQL's clock is ahead of this process's; the store keeps it current whenever it deals with leases. */
export interface StoreClock {
  skewMs: number;
}

interface Row {
  readonly no: number;
  readonly id: string;
  readonly key: string | null;
  readonly session: string;
  readonly workflow: string;
  readonly status: string;
  readonly wake_at: number | null;
  readonly priority: number;
  readonly woken_at: number | null;
  readonly owner: string | null;
  readonly claimed: boolean;
}

interface LeaseRow {
  readonly id: string;
  readonly epoch: number;
  readonly expires: number;
  readonly abandoned: boolean;
  readonly now: number;
}

const pageRows = 64;
const mostTaken = 1000;
const columns = `r.no::float8 AS no, r.id, r.key, r.session, r.workflow, r.status, ${ms("r.wake_at")} AS wake_at, ${ms("r.woken_at")} AS woken_at, r.priority, r.epoch > 0 AS claimed`;
const now = `${ms("clock_timestamp()")} AS now`;
const lease = `r.id, r.epoch::float8 AS epoch, ${ms("r.lease_expires")} AS expires, ${now}`;
const until = (place: string): string => `clock_timestamp() + ${place}::float8 * interval '1 millisecond'`;

export class Leases {
  readonly #connection: Connection;
  readonly #clock: StoreClock;

  constructor(connection: Connection, clock: StoreClock) {
    this.#connection = connection;
    this.#clock = clock;
  }

  /** Raises the epoch unless somebody else's lease lasts; waits for appends in flight. An unknown run cannot be claimed. */
  async claim(run: string, worker: string, forMs: number, from: string | undefined): Promise<Lease | undefined> {
    return leaseOf((await this.#ask<LeaseRow>(claiming, [run, worker, forMs, from ?? worker]))[0]);
  }

  /** Runs that somebody else is just taking, or whose holder is just appending, are passed over. */
  async take({ workflows, limit }: TakeQuery, worker: string, forMs: number): Promise<TakenRun[]> {
    if (!(limit >= 1) || workflows.length === 0) return [];
    const rows = await this.#ask<Row & LeaseRow & { readonly due_at: number }>(taking, [
      [...workflows],
      Math.min(Math.floor(limit), mostTaken),
      worker,
      forMs,
    ]);
    return rows
      .sort((a, b) => b.priority - a.priority || a.due_at - b.due_at || a.no - b.no)
      .map((row) => ({ row: runRow(row), lease: leaseOf(row) as Lease }));
  }

  /** Also after it expired, as long as nobody took over. */
  async renew({ run, epoch }: Lease, forMs: number): Promise<Lease | undefined> {
    return leaseOf((await this.#ask<LeaseRow>(renewing, [run, epoch, forMs]))[0]);
  }

  /** Nothing happens if it was taken over. */
  async release({ run, epoch }: Lease): Promise<void> {
    // Done twice it does no more than once.
    await this.#connection.read(releasing, [this.#connection.tenant, this.#connection.project, run, epoch]);
  }

  async #ask<Asked extends { readonly now: number }>(sql: string, values: unknown[]): Promise<Asked[]> {
    const sent = Date.now();
    const rows = await this.#connection.write<Asked>(sql, [this.#connection.tenant, this.#connection.project, ...values]);
    const told = rows[0]?.now;
    if (told !== undefined) this.#clock.skewMs = told - (sent + Date.now()) / 2;
    return rows;
  }
}

// The owner before, as it is once nobody else changes the row.
const held = "no, owner, lease_expires <= now() AS expired";
const abandoned = (worker: string, before: string): string =>
  `coalesce(${before}.owner <> ${worker} OR ${before}.expired, false) AS abandoned`;

const claiming = `WITH held AS MATERIALIZED (
    SELECT ${held} FROM openrath.runs WHERE tenant = $1 AND project = $2 AND id = $3
      AND (owner IS NULL OR owner = $4 OR owner = $6 OR lease_expires <= now()) FOR NO KEY UPDATE)
  UPDATE openrath.runs r SET owner = $4, epoch = r.epoch + 1, lease_expires = ${until("$5")}, woken_at = NULL
  FROM held WHERE r.no = held.no RETURNING ${lease}, ${abandoned("$4", "held")}`;

// One level of priority after the other: within a level the index is in order of time, so that a backlog is never read through.
const taking = `WITH RECURSIVE levels AS (
    SELECT max(priority) AS priority FROM openrath.runs WHERE tenant = $1 AND project = $2 AND due_at IS NOT NULL
    UNION ALL
    SELECT (SELECT max(priority) FROM openrath.runs WHERE tenant = $1 AND project = $2 AND due_at IS NOT NULL AND priority < levels.priority)
      FROM levels WHERE levels.priority IS NOT NULL),
  due AS MATERIALIZED (
    SELECT found.* FROM levels CROSS JOIN LATERAL (
      SELECT ${held}, due_at FROM openrath.runs WHERE tenant = $1 AND project = $2 AND priority = levels.priority AND due_at <= now()
        AND workflow = ANY ($3::text[])
      ORDER BY due_at, no LIMIT $4 FOR NO KEY UPDATE SKIP LOCKED) found LIMIT $4)
  UPDATE openrath.runs r SET owner = $5, epoch = r.epoch + 1, lease_expires = ${until("$6")}, woken_at = NULL
  FROM due WHERE r.no = due.no
  RETURNING ${columns}, r.owner, ${lease.replace("r.id, ", "")}, ${ms("due.due_at")} AS due_at, ${abandoned("$5", "due")}`;

// Not synced: after a crash of the server every lease may run out or be held a little longer. An epoch must not be lost, so claims are.
const unsynced = "FROM (SELECT set_config('synchronous_commit', 'off', true) AS off) unsynced WHERE unsynced.off = 'off' AND";

const renewing = `UPDATE openrath.runs r SET lease_expires = ${until("$5")}, woken_at = NULL
  ${unsynced} tenant = $1 AND project = $2 AND id = $3 AND epoch = $4 AND owner IS NOT NULL RETURNING ${lease}, false AS abandoned`;

const releasing = `UPDATE openrath.runs r SET owner = NULL, lease_expires = NULL
  ${unsynced} tenant = $1 AND project = $2 AND id = $3 AND epoch = $4`;

/** Runs in order of creation, a page at a time. */
export async function* runPages(connection: Connection, query: RunQuery): AsyncGenerator<RunRow[], void> {
  const { after, newestFirst } = query;
  const where = ["r.tenant = $1", "r.project = $2", newestFirst === true ? "r.no < $3" : "r.no > $3"];
  const values: (string | readonly string[])[] = [];
  const also = (value: string | undefined, condition: string): void => {
    if (value === undefined) return;
    values.push(value);
    where.push(`${condition} $${values.length + 3}`);
  };
  also(query.id, "r.id =");
  const any = (value: string | readonly string[] | undefined, column: string): void => {
    if (value === undefined || typeof value === "string") also(value, `${column} =`);
    else {
      values.push([...value]);
      where.push(`${column} = ANY ($${values.length + 3}::text[])`);
    }
  };
  any(query.status, "r.status");
  also(query.key, "r.key =");
  any(query.session, "r.session");
  also(query.workflow, "r.workflow =");
  also(query.dueBefore, "r.wake_at <");
  also(query.owner, "r.lease_expires > clock_timestamp() AND r.owner =");
  if (query.woken) where.push("r.woken_at IS NOT NULL");
  const holder = "CASE WHEN r.lease_expires > clock_timestamp() THEN r.owner END AS owner";
  const sql = `SELECT ${columns}, ${holder} FROM openrath.runs r WHERE ${where.join(" AND ")} ORDER BY r.no ${newestFirst === true ? "DESC" : "ASC"} LIMIT ${pageRows}`;
  const first = newestFirst === true ? Number.MAX_SAFE_INTEGER : 0;
  let last: number | undefined = after === undefined ? first : await numberOf(connection, after);
  while (last !== undefined) {
    const rows: Row[] = await connection.read<Row>(sql, [connection.tenant, connection.project, last, ...values]);
    yield rows.map(runRow);
    last = rows.length < pageRows ? undefined : rows.at(-1)?.no;
  }
}

async function numberOf(connection: Connection, run: string): Promise<number | undefined> {
  const sql = "SELECT no::float8 AS no FROM openrath.runs WHERE tenant = $1 AND project = $2 AND id = $3";
  return (await connection.read<{ no: number }>(sql, [connection.tenant, connection.project, run]))[0]?.no;
}

function leaseOf(row: LeaseRow | undefined): Lease | undefined {
  if (row === undefined) return undefined;
  const expires = new Date(row.expires).toISOString();
  return { run: row.id, epoch: row.epoch, expires, ...(row.abandoned ? { abandoned: true } : {}) };
}

function runRow(row: Row): RunRow {
  return {
    id: row.id,
    key: row.key ?? undefined,
    session: row.session,
    workflow: row.workflow,
    status: row.status,
    wakeAt: row.wake_at === null ? undefined : new Date(row.wake_at).toISOString(),
    ...(row.priority === 0 ? {} : { priority: row.priority }),
    owner: row.owner ?? undefined,
    ...(row.claimed ? { claimed: true } : {}),
    ...(row.woken_at === null ? {} : { woken: true }),
  };
}

/** A time as milliseconds since 1970, which every driver gives as the same number. */
export function ms(time: string): string {
  return `(extract(epoch FROM ${time}) * 1000)::float8`;
}
