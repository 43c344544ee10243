/**
 * The store port: where logs, blobs, runs and leases are kept.
 *
 * Safety lives in `append` alone: everything in one write is durable together or not at all, each branch is checked
 * against its expected head and the run's epoch is checked once for all of them. A lost race is a value, not an exception.
 * A store knows nothing of what events mean: it keeps the bytes that were hashed and gives them back unchanged.
 */

import type { EnvelopeParts } from "../session/codec.ts";
import type { RathError } from "../session/errors.ts";

export type { EnvelopeParts };

/** One event as stored. `envelope` and `data` are the exact bytes that were hashed; `data` (16 bytes of salt first) is undefined once erased. */
export interface StoredEvent {
  /** 64 lower-case hex digits: SHA-256 of `envelope`. */
  readonly id: string;
  readonly session: string;
  /** Increases along a log, not always by one. */
  readonly step: number;
  /** The run that wrote it, outside the id. */
  readonly run: string | undefined;
  /** Its place in that run's order of delivery, outside the id. */
  readonly order: number;
  readonly envelope: Uint8Array;
  /** What `envelope` says, where a store keeps its parts apart: whoever reads it need not take it apart again. */
  readonly parts?: EnvelopeParts | undefined;
  readonly data: Uint8Array | undefined;
  /** Of an event whose data was erased: the entry of the erasure log that says by whom and why. */
  readonly erased?: string | undefined;
}

/** What is said of a log when its first event is written. Titles and tags are for finding it; they are not part of the chain. */
export interface LogAbout {
  /** A session of the user, the own log of a run, an answer or a mailbox, or what was erased. */
  readonly log: "session" | "run" | "answer" | "erasure";
  /** The session its first event continues. */
  readonly parent?: string | undefined;
  readonly title?: string | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly principal?: string | undefined;
}

/**
 * New events of one log, appended after `expectedHead` (undefined: the log must not exist yet). A write may hold several pieces of one log,
 * with events of others between them: each is expected after the one before it.
 */
export interface BranchWrite {
  readonly session: string;
  readonly expectedHead: string | undefined;
  readonly events: readonly StoredEvent[];
  /** Given with the first events of a log, ignored afterwards. */
  readonly about?: LogAbout | undefined;
}

/** Everything or nothing, in one durable commit. Without a lease (an answer, an import, a bare value) only heads are checked. */
export interface Write {
  readonly branches: readonly BranchWrite[];
  readonly lease?: Lease | undefined;
  readonly blobs?: readonly { readonly hash: string; readonly bytes: Uint8Array }[] | undefined;
  /** Created or replaced by id; its owner and epoch are the lease's business and stay as they are, and so does that it was woken. */
  readonly run?: RunRow | undefined;
  /** The lease is given back in the same commit. */
  readonly release?: boolean | undefined;
  /** Runs that have news (an answer, a signal, a cancel): free ones are due at once, held ones show as `woken` to their holder. */
  readonly wake?: readonly string[] | undefined;
  /** The caller asks for less than the store's durability: acknowledged before it is on disk. Stores may ignore it. */
  readonly relaxed?: boolean | undefined;
}

/** The epoch is judged first; then the first branch whose head differs is named, with the head it has. */
export type Written =
  | { readonly ok: true }
  | { readonly ok: false; readonly reason: "head"; readonly session: string; readonly head: string | undefined }
  | { readonly ok: false; readonly reason: "epoch"; readonly epoch: number };

/**
 * A run as it is found: what it executes, where it stands, and when it goes on by itself. It is due when nobody holds its lease
 * and it was woken, or its `wakeAt` has come by the store's clock, or its last holder let the lease expire without giving it back.
 * What its status means is no business of the store.
 */
export interface RunRow {
  readonly id: string;
  /** The key it was started with; no two runs have the same. */
  readonly key: string | undefined;
  /** The session it works on. */
  readonly session: string;
  readonly workflow: string;
  readonly status: string;
  /** ISO time from which it wants to go on by itself; undefined: only when it is woken. */
  readonly wakeAt: string | undefined;
  /** Of several that are due the highest goes first; 0 when left out. */
  readonly priority?: number | undefined;
  /** Who holds its lease now; ignored when written. */
  readonly owner?: string | undefined;
  /** Somebody holds its lease or has held it, so that something of it may be done: ignored when written. */
  readonly claimed?: boolean | undefined;
  /** It has news that nobody has taken note of since: ignored when written, cleared by `claim`, `take` and `renew`. */
  readonly woken?: boolean | undefined;
}

/** The right to write for a run, until it expires or somebody takes the run over. */
export interface Lease {
  readonly run: string;
  /** Raised by every claim; a write with an older one is refused. */
  readonly epoch: number;
  /** ISO time by the store's clock. */
  readonly expires: string;
  /** The owner before never gave it back: it died, or was cut off. Said by `claim` and `take`. */
  readonly abandoned?: boolean | undefined;
}

/** A run that was taken, and the right to write for it. */
export interface TakenRun {
  readonly row: RunRow;
  readonly lease: Lease;
}

/** Which due runs a worker takes. */
export interface TakeQuery {
  /** The workflows it knows: runs of others are left for others. */
  readonly workflows: readonly string[];
  /** No more than this many. */
  readonly limit: number;
}

/** Something may have changed: runs were woken or queued, these logs grew. Never the truth, which is read. */
export interface News {
  readonly due: boolean;
  readonly logs: readonly string[];
  /** What somebody told, and nothing else changed. */
  readonly words?: unknown;
}

/** Wake-ups that outlive the process that asked for them; at least once, perhaps late or twice. Disposing ends hearing them. */
export interface Wakeups extends AsyncDisposable {
  /** Somebody who hears wake-ups looks for work at this ISO time. Asked again for a run, the newest time may replace earlier ones. */
  at(run: string, time: string): Promise<void>;
}

/** A log as it is found. */
export interface LogRow extends LogAbout {
  readonly id: string;
  /** The id of its newest event; empty where a store finds that it is damaged, and reading it says how. */
  readonly head: string;
  /** The run that created it. */
  readonly run: string | undefined;
  /** ISO time by the store's clock at which its first events were stored. A store that can remove logs knows it. */
  readonly created?: string | undefined;
}

/** Which events, and in which order. */
export type EventQuery =
  /** One log by step, both ends included. */
  | { readonly session: string; readonly from?: number | undefined; readonly to?: number | undefined }
  /** All that a run wrote in any log, by order, after a place in it. */
  | { readonly run: string; readonly after?: number | undefined }
  /** In the order asked; unknown ids are left out. */
  | { readonly ids: readonly string[] };

/**
 * Events in the order in which the store took them in, over all logs: those of one write in the order of its branches, so that whoever
 * writes parents first has them read so. `place` names the position after them: a text that sorts as the
 * feed does. Whoever has read up to a place has missed nothing before it, now and later, in this process or another.
 */
export interface Fed {
  readonly place: string;
  readonly events: readonly StoredEvent[];
  /** Events lie here that cannot be read, since the store is damaged: what is behind them is fed all the same. */
  readonly problem?: RathError | undefined;
}

/** Which logs; every condition given must hold. */
export interface LogQuery {
  /** An id or the beginning of one. */
  readonly id?: string | undefined;
  /** The session its first event continues; of several, any. */
  readonly parent?: string | readonly string[] | undefined;
  /** None of these. */
  readonly except?: readonly string[] | undefined;
  /** Logs a run wrote to, created by it or not. */
  readonly run?: string | undefined;
  readonly tag?: string | undefined;
  /** Which sort of log; all of them when left out. */
  readonly log?: LogAbout["log"] | undefined;
  /** The newest first; else in order of creation. */
  readonly newestFirst?: boolean | undefined;
  /** Only those that come after this one in that order. */
  readonly after?: string | undefined;
}

/** Which runs; every condition given must hold. */
export interface RunQuery {
  readonly id?: string | undefined;
  /** One status, or any of several. */
  readonly status?: string | readonly string[] | undefined;
  readonly key?: string | undefined;
  /** The session they work on; of several, any. */
  readonly session?: string | readonly string[] | undefined;
  readonly workflow?: string | undefined;
  /** Those whose `wakeAt` is before this ISO time. */
  readonly dueBefore?: string | undefined;
  /** Those whose lease this worker holds now. */
  readonly owner?: string | undefined;
  /** Those that were woken since they were last claimed, taken or renewed. */
  readonly woken?: true | undefined;
  /** Only those that come after this one in the order asked for; none after one that is not there. */
  readonly after?: string | undefined;
  /** Those created last come first. */
  readonly newestFirst?: boolean | undefined;
}

/** Opened for one tenant and project; whatever it returns belongs to them. */
export interface Store extends AsyncDisposable {
  /** What it is, in a word, for whoever reads where a record was kept. Of one called "memory" nothing outlives the process, nor does its signing key. */
  readonly kind?: string | undefined;
  /** Stores all of a write durably, or nothing of it; says which check refused it. */
  append(write: Write): Promise<Written>;
  /** The events asked for, with the bytes that were appended. */
  events(query: EventQuery): AsyncIterable<StoredEvent>;
  /** What was appended after a place, in order; from the beginning when none is given. Ends where nothing more is known yet. */
  feed(query: { readonly after?: string | undefined }): AsyncIterable<Fed>;
  /** The place after everything that `feed` would give now. */
  fedTo(): Promise<string>;
  /** In order of creation, or the newest first. */
  sessions(query: LogQuery): AsyncIterable<LogRow>;
  /** How many sessions each of these has as their parent; those that none continues are left out. */
  branches(parents: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** The rows of runs as they were last written, with whoever holds the lease now, in order of creation. */
  runs(query: RunQuery): AsyncIterable<RunRow>;
  /**
   * Takes the run and raises its epoch, so that every earlier lease is fenced. Undefined while somebody else's lease lasts;
   * `from` takes it all the same if that owner still holds it (its process is known to be dead).
   */
  claim(run: string, worker: string, forMs: number, options?: { readonly from?: string | undefined }): Promise<Lease | undefined>;
  /** Takes runs that are due, as `claim` does, the most urgent first: highest priority, then longest due. No two workers get the same. */
  take(query: TakeQuery, worker: string, forMs: number): Promise<readonly TakenRun[]>;
  /** Undefined when it was taken over. */
  renew(lease: Lease, forMs: number): Promise<Lease | undefined>;
  /** Gives the run back before the lease ends; nothing happens when it was taken over. */
  release(lease: Lease): Promise<void>;
  /** The content of a blob by its SHA-256; undefined when there is none. */
  blob(hash: string): Promise<Uint8Array | undefined>;
  /** Tells of changes made by anybody, where the store hears of them: hints that may be lost, late or doubled. */
  watch?(hear: (news: News) => void): Promise<AsyncDisposable>;
  /** Tells whoever watches a few words (JSON, at most 7 KB), once, where the store can; they are lost when nobody listens, and never kept. */
  tell?(words: unknown): Promise<void>;
  /** Durable wake-ups for workers, where the store has them; `hear` is called when it is time to look. */
  wakeups?(hear: () => void): Promise<Wakeups>;
  /**
   * Removes the data of events for good and keeps their envelopes, which name `entry` from then on; one that was erased before keeps
   * the entry it names. With the first event of a log goes what was said of the log with it: its title and its tags.
   */
  erase?(ids: readonly string[], entry: string): Promise<void>;
  /**
   * Removes whole logs with all their events, and the rows of the runs whose own logs they are. False, and nothing is removed, when one
   * of them has another head by now, or another log continues one of them, or something was appended after the place that is given.
   */
  remove?(logs: readonly LogPlace[], options?: RemoveOptions): Promise<boolean>;
  /**
   * Cleans up after `erase`, `remove` and `sweep`, so that what they removed is not in the files of the store any more. False when others
   * were in the way, or it is not allowed: it is asked for again. Names of tables: it did what it can, and unused space in their files
   * may hold bytes of it until that is used again.
   */
  scrub?(): Promise<boolean | readonly string[]>;
  /** Removes blobs that nobody needs, or only lists them, with the bytes they take in the store. */
  sweep?(options: SweepOptions): AsyncIterable<{ readonly hash: string; readonly bytes: number }>;
}

/** A log and the head it is known to have. */
export interface LogPlace {
  readonly session: string;
  readonly head: string;
}

/** Until when it is known that nobody needs what goes. */
export interface RemoveOptions {
  /**
   * A place in the feed. Whoever decides by what events say takes it before reading them: an event may come to need a log that it
   * neither continues nor is appended to. What was appended after it to erasure logs does not count: nobody needs a log for it, and
   * who removes logs says so there first. A place that the feed never had is refused as `feed` refuses it.
   */
  readonly after?: string | undefined;
}

/** Which blobs go. One goes only when it was last put before `before` and is not kept. */
export interface SweepOptions {
  /** ISO time by the store's clock; the moment of the call when left out. What is put again meanwhile is younger, and stays. */
  readonly before?: string | undefined;
  readonly dryRun: boolean;
  /**
   * Is given every event whose blobs lie among those of this store, of other projects too, and says which blobs stay. When events were
   * appended since, it is asked again with those alone, and its newest answer counts: nothing is removed while an event that it has not
   * seen could name it. When it rejects, nothing more is removed.
   */
  keeping(events: AsyncIterable<StoredEvent>): Promise<(hash: string) => boolean>;
}
