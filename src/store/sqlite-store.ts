/**
 * The SQLite store, put together from its parts. Apart from `sqlite.ts` so that tests can give it another driver.
 *
 * It owns one database file, which any number of stores and processes may use at once. It opens the file at the first call.
 */
import { resolve } from "node:path";
import { Connection } from "../sqlite/connection.ts";
import type { OpenDatabase } from "../sqlite/driver.ts";
import { keptIn } from "../sqlite/kept.ts";
import { scrub } from "../sqlite/scrub.ts";
import { storeFormat } from "./migrations/migrations.ts";
import { items } from "./pages.ts";
import { Appends } from "./sqlite-append.ts";
import { readBlob } from "./sqlite-blobs.ts";
import { fedTo, feedPages, forgetRemoved } from "./sqlite-feed.ts";
import { Frames } from "./sqlite-frames.ts";
import { Ids } from "./sqlite-ids.ts";
import { countBranches, LogRows, logPages, removeLogs } from "./sqlite-logs.ts";
import { sessionPages, writtenPages } from "./sqlite-read.ts";
import { claimRun, releaseLease, renewLease, runPages } from "./sqlite-runs.ts";
import { sweepBlobs } from "./sqlite-sweep.ts";
import { takeRuns } from "./sqlite-take.ts";
import type { Store } from "./store.ts";

/** How a SQLite store is opened. */
export interface SqliteOptions {
  /** Whose logs these are; "default" when left out. */
  readonly tenant?: string | undefined;
  readonly project?: string | undefined;
  /**
   * "sync" (default): every append is on disk before it is acknowledged. "relaxed": the same, except appends that say
   * `relaxed: true`; they survive the death of the process, and a power cut once any later append is synced.
   */
  readonly durability?: "sync" | "relaxed" | undefined;
  /** Milliseconds since 1970, for leases and for the age of blobs. */
  readonly clock?: (() => number) | undefined;
}

/** The store in the file at `path`, on the driver that `open` gives. */
export function storeOn(path: string, options: SqliteOptions, open: OpenDatabase, patienceMs = 10_000): Store {
  const { tenant = "default", project = "default", durability = "sync", clock = Date.now } = options;
  const place = { path: resolve(path), format: storeFormat, tenant, clock, open, patienceMs };
  const connection = new Connection({ ...place, project });
  const frames = new Frames(connection);
  const appends = new Appends(connection, frames, durability === "relaxed");
  const ids = new Ids(connection, frames, appends.unindexed);
  const logRows = new LogRows(connection, frames);
  let closing: Promise<void> | undefined;

  const close = async (): Promise<void> => {
    await appends.settled();
    try {
      // The index is only an index: damage that it meets is reported to whoever asks for what is damaged.
      if (connection.opened) await ids.catchUp(false).catch(() => {});
    } finally {
      connection.close();
    }
  };

  const store: Store = {
    kind: "sqlite",
    append: (write) => appends.add(write),
    events(query) {
      if ("ids" in query) return items(ids.pages(query.ids));
      if ("run" in query) return items(writtenPages(connection, frames, query.run, query.after));
      return items(sessionPages(connection, frames, query.session, query.from, query.to));
    },
    feed: ({ after }) => items(feedPages(connection, frames, after)),
    fedTo: () => connection.patiently(() => fedTo(connection)),
    sessions: (query) => items(logPages(connection, frames, query, logRows)),
    branches: (parents) => connection.patiently(() => countBranches(connection, parents)),
    runs: (query) => items(runPages(connection, query)),
    // Losing leases in a power cut costs nothing: every holder died with it, and what one appended is synced with its claim.
    claim: (run, worker, forMs, from) =>
      connection.patiently(() => connection.transaction(false, () => claimRun(connection, run, worker, forMs, from?.from))),
    take: (query, worker, forMs) => takeRuns(connection, query, worker, forMs),
    renew: (lease, forMs) => connection.patiently(() => connection.transaction(false, () => renewLease(connection, lease, forMs))),
    release: (lease) => connection.patiently(() => connection.transaction(false, () => releaseLease(connection, lease))),
    blob: (hash) => connection.patiently(() => readBlob(connection, hash)),
    erase: (erased, entry) => ids.erase(erased, entry),
    remove: async (logs, options) => {
      await appends.settled();
      return connection.patiently(() => connection.transaction(true, () => removeLogs(connection, frames, logs, options)));
    },
    scrub: async () => {
      if (connection.opened) await connection.patiently(() => forgetRemoved(connection));
      return scrub(connection);
    },
    sweep: (sweeping) => sweepBlobs(connection, (other) => new Connection({ ...place, project: other }), sweeping),
    [Symbol.asyncDispose]: () => {
      closing ??= close();
      return closing;
    },
  };
  keptIn(store, connection.path, { tenant, project });
  return store;
}
