/**
 * Wake-ups that outlive the process that asked for them: jobs of pg-boss in the same database, in a schema of its own. A job says
 * nothing but that it is time to look; what is due is asked of the store. Whoever hears one takes it from the others.
 */
import { hash } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import type { Connection } from "../postgres/connection.ts";
import { RathError } from "../session/errors.ts";
import type { Wakeups } from "./store.ts";

/** What we use of pg-boss. */
interface Boss {
  start(): Promise<unknown>;
  stop(options: object): Promise<void>;
  createQueue(name: string, options: object): Promise<void>;
  send(name: string, data: object, options: object): Promise<string | null>;
  fetch(name: string, options: object): Promise<readonly { readonly id: string }[]>;
  complete(name: string, ids: readonly string[]): Promise<unknown>;
  on(event: "error" | "warning", hear: (error: unknown) => void): unknown;
}
type BossClass = new (options: object) => Boss;

const pollMs = 1000;
const jobsAtOnce = 500;

export async function openWakeups(connection: Connection, hear: () => void): Promise<Wakeups> {
  const PgBoss = await loadBoss();
  await connection.open();
  let open = true;
  const warn = (error: unknown): void => {
    if (open) process.emitWarning(`pg-boss: ${error instanceof Error ? error.message : String(error)}`, "OpenRathWarning");
  };
  const boss = await startedBoss(PgBoss, connection, warn);
  // One queue for each tenant and project: what one of them hears, nobody else needs.
  const queue = `wake-${hash("sha256", JSON.stringify([connection.tenant, connection.project])).slice(0, 16)}`;
  const stop = async (): Promise<void> => {
    open = false;
    await boss.stop({ graceful: true, wait: true, timeout: 1000, close: false }).catch(() => {});
  };
  try {
    await boss.createQueue(queue, { name: queue, policy: "short", retryLimit: 2 });
  } catch (error) {
    await stop();
    throw error;
  }
  const listening = listen(boss, queue, hear);
  return {
    at: async (run, time) => {
      // The same run at the same time is one job; an earlier time is another, since the later one would come too late.
      await boss.send(queue, { run }, { startAfter: new Date(time), singletonKey: `${run} ${time}`, retentionDays: 365 });
    },
    [Symbol.asyncDispose]: async () => {
      open = false;
      await listening.stop();
      await stop();
    },
  };
}

/** Several that begin at once on a new database make its tables at once, and all but one of them are refused: those find them made. */
async function startedBoss(PgBoss: BossClass, connection: Connection, warn: (error: unknown) => void): Promise<Boss> {
  for (let left = 5; ; left--) {
    const boss = new PgBoss({
      db: { executeSql: (text: string, values?: unknown[]) => connection.raw(text, values) },
      schema: `${connection.schema}_boss`,
      application_name: "openrath",
      // It is asked to wake, not to repeat by itself: schedules are no business of its here.
      schedule: false,
      archiveCompletedAfterSeconds: 3600,
      deleteAfterHours: 24,
    });
    for (const event of ["error", "warning"] as const) boss.on(event, warn);
    try {
      await boss.start();
      return boss;
    } catch (error) {
      if (left === 0 || connection.closed) throw error;
      await setTimeout(50 * (1 + Math.random()));
    }
  }
}

/**
 * Not `boss.work`: that does not await what it says of a finished job, so a connection that breaks just then would end the process.
 * A job that could not be said to be finished comes again, which only means one look more.
 */
function listen(boss: Boss, queue: string, hear: () => void): { stop(): Promise<void> } {
  const end = new AbortController();
  const look = async (): Promise<void> => {
    const jobs = await boss.fetch(queue, { batchSize: jobsAtOnce });
    if (jobs.length === 0) return;
    hear();
    await boss.complete(
      queue,
      jobs.map(({ id }) => id),
    );
  };
  const looking = (async () => {
    while (!end.signal.aborted) {
      await look().catch(() => {});
      await setTimeout(pollMs, undefined, { signal: end.signal }).catch(() => {});
    }
  })();
  return {
    stop: async () => {
      end.abort();
      await looking;
    },
  };
}

async function loadBoss(): Promise<BossClass> {
  try {
    // Through a variable: a literal would make bundlers look for a package that not everybody has.
    const name: string = "pg-boss";
    return ((await import(name)) as { readonly default: BossClass }).default;
  } catch (cause) {
    throw new RathError(
      "store.unavailable",
      `Waking workers at a time needs the package pg-boss, which is not installed. Run "npm install pg-boss@10".`,
      {
        cause,
      },
    );
  }
}
