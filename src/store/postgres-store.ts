/**
 * The PostgreSQL store, put together from its parts. Any number of stores and processes may use the database at once. It connects at
 * the first call.
 */
import { Connection, type PostgresOptions } from "../postgres/connection.ts";
import type { PostgresPool } from "../postgres/driver.ts";
import { keptAt } from "../postgres/upkeep.ts";
import { vacuum } from "../postgres/vacuum.ts";
import { postgresFormat } from "./migrations/postgres-format.ts";
import { items } from "./pages.ts";
import { Appends } from "./postgres-append.ts";
import { readBlob, sweepBlobs } from "./postgres-blobs.ts";
import { eraseEvents, removeLogs } from "./postgres-erase.ts";
import { fedTo, feedPages } from "./postgres-feed.ts";
import { countBranches, logPages } from "./postgres-logs.ts";
import { Teller, tellWords, watchNews } from "./postgres-news.ts";
import { idPages, sessionPages, writtenPages } from "./postgres-read.ts";
import { Leases, runPages, type StoreClock } from "./postgres-runs.ts";
import { openWakeups } from "./postgres-wakeups.ts";
import type { Store } from "./store.ts";

/** How a PostgreSQL store is opened. */
export interface PostgresStoreOptions extends PostgresOptions {
  /**
   * "sync" (default): every append is on disk before it is acknowledged. "relaxed": the same, except appends that say
   * `relaxed: true`; they survive the death of this process, and that of the server a moment later.
   */
  readonly durability?: "sync" | "relaxed" | undefined;
  /** Kept current by the store: how far PostgreSQL's clock, which judges leases, is ahead of this process's. */
  readonly clock?: StoreClock | undefined;
}

export function storeOn(source: string | PostgresPool, options: PostgresStoreOptions): Store {
  const connection = new Connection(source, options, postgresFormat);
  if (connection.crowded)
    process.emitWarning(
      "The pool that was given has room for one connection (max: 1): none is left to listen on, and changes are seen by looking from time to time.",
      "OpenRathWarning",
    );
  const teller = new Teller(connection);
  const appends = new Appends(connection, options.durability === "relaxed", (sessions) => teller.grown(sessions));
  const leases = new Leases(connection, options.clock ?? { skewMs: 0 });
  const listeners = new Set<AsyncDisposable>();
  let closing: Promise<void> | undefined;

  const until = async <T extends AsyncDisposable>(opened: T): Promise<T> => {
    const dispose = opened[Symbol.asyncDispose].bind(opened);
    const kept = Object.assign(opened, {
      [Symbol.asyncDispose]: async () => {
        if (listeners.delete(kept)) await dispose();
      },
    });
    listeners.add(kept);
    return kept;
  };
  const close = async (): Promise<void> => {
    await appends.settled();
    await teller.settled();
    for (const listener of [...listeners]) await listener[Symbol.asyncDispose]();
    await connection.close();
  };

  const store: Store = {
    kind: "postgres",
    append: (write) => appends.add(write),
    events(query) {
      if ("ids" in query) return items(idPages(connection, query.ids));
      if ("run" in query) return items(writtenPages(connection, query.run, query.after));
      return items(sessionPages(connection, query));
    },
    feed: ({ after }) => items(feedPages(connection, after)),
    fedTo: () => fedTo(connection),
    sessions: (query) => items(logPages(connection, query)),
    branches: (parents) => countBranches(connection, parents),
    runs: (query) => items(runPages(connection, query)),
    claim: (run, worker, forMs, from) => leases.claim(run, worker, forMs, from?.from),
    take: (query, worker, forMs) => leases.take(query, worker, forMs),
    renew: (lease, forMs) => leases.renew(lease, forMs),
    release: (lease) => leases.release(lease),
    blob: (hash) => readBlob(connection, hash),
    ...(connection.listens ? { watch: async (hear) => until(await watchNews(connection, hear)) } : {}),
    tell: (words) => tellWords(connection, words),
    wakeups: async (hear) => until(await openWakeups(connection, hear)),
    erase: (ids, entry) => eraseEvents(connection, ids, entry),
    remove: async (logs, options) => {
      await appends.settled();
      return removeLogs(connection, logs, options);
    },
    scrub: () => vacuum(connection, ["frames", "blobs", "logs", "runs", "event_ids"]),
    sweep: (sweeping) => sweepBlobs(connection, sweeping),
    [Symbol.asyncDispose]: () => {
      closing ??= close();
      return closing;
    },
  };
  keptAt(store, source, options, postgresFormat);
  return store;
}
