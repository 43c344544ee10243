/**
 * Appends: where several writers are at work, all that wait in one turn of the event loop share one transaction, and so one sync.
 *
 * Everything is packed when `append` is called, so the caller's bytes are free at once. In the transaction each write is
 * judged as a whole before any of it is inserted. Heads are remembered between transactions, but never trusted against
 * other processes: a place is a primary key, so inserting after a head that is not the newest fails, and the transaction
 * is made again with what is really there.
 */
import { RathError } from "../session/errors.ts";
import type { Connection } from "../sqlite/connection.ts";
import { failureOf } from "../sqlite/driver.ts";
import { encodeFrame, type FramePlace, sealFrame } from "./frame.ts";
import { copyBlob, type PackedBlob, packBlob, putBlob } from "./sqlite-blobs.ts";
import { type Frames, perLog } from "./sqlite-frames.ts";
import { addLog, findLog, nextNumber } from "./sqlite-logs.ts";
import { epochOf, keyConflict, putRun, releaseLease, wakeRun } from "./sqlite-runs.ts";
import type { BranchWrite, LogAbout, StoredEvent, Write, Written } from "./store.ts";

interface PackedFrame {
  readonly run: string | undefined;
  readonly count: number;
  readonly firstOrder: number;
  readonly lastOrder: number;
  readonly ordered: boolean;
  readonly body: Buffer;
}

interface PackedBranch {
  readonly session: string;
  readonly expectedHead: string | undefined;
  readonly head: string | undefined;
  readonly about: LogAbout;
  readonly frames: readonly PackedFrame[];
}

interface Entry {
  readonly branches: readonly PackedBranch[];
  readonly write: Write;
  readonly blobs: readonly PackedBlob[];
  readonly resolve: (written: Written) => void;
  readonly reject: (error: unknown) => void;
}

/** What is known of a log between two transactions of this process. */
interface Log {
  readonly no: number;
  next: number;
  head: string;
  readonly writers: Map<string, { readonly no: number; lastOrder: number }>;
}

/** Larger writes are split, so that reading one event of an import does not mean reading all of it. */
const frameBytes = 64 * 1024;
const frameEvents = 256;
const rememberedLogs = 10_000;

export class Appends {
  readonly #connection: Connection;
  readonly #frames: Frames;
  readonly #relaxed: boolean;
  readonly #logs = new Map<string, Log>();
  /** Logs that got events which are not in the id index yet. */
  readonly unindexed = new Set<number>();
  #queue: Entry[] = [];
  #flushing: Promise<void> | undefined;
  /** Appends of this turn of the event loop, and whether the turn before had several: then it pays to wait for the others. */
  #inTurn = 0;
  #crowded = false;

  constructor(connection: Connection, frames: Frames, relaxed: boolean) {
    this.#connection = connection;
    this.#frames = frames;
    this.#relaxed = relaxed;
  }

  add(write: Write): Promise<Written> {
    return new Promise((resolve, reject) => {
      const branches = write.branches.map(packBranch);
      const blobs = (write.blobs ?? []).map(copyBlob);
      const copy = { ...write, run: write.run && { ...write.run }, wake: write.wake?.slice() };
      this.#queue.push({ branches, write: copy, blobs, resolve, reject });
      this.#count();
      this.#flushing ??= this.#flush();
    });
  }

  #count(): void {
    if (this.#inTurn++ > 0) return;
    setImmediate(() => {
      this.#crowded = this.#inTurn > 1;
      this.#inTurn = 0;
    });
  }

  /** Resolves when nothing is waiting any more. */
  async settled(): Promise<void> {
    while (this.#flushing !== undefined) await this.#flushing;
  }

  async #flush(): Promise<void> {
    while (this.#queue.length > 0) {
      // A lone writer is not made to wait for a crowd that does not come.
      if (this.#crowded || this.#inTurn > 1) await new Promise((resolve) => setImmediate(resolve));
      else await undefined;
      const batch = this.#queue;
      this.#queue = [];
      await this.#settle(batch);
    }
    this.#flushing = undefined;
  }

  async #settle(batch: readonly Entry[]): Promise<void> {
    try {
      for (const { blobs } of batch) for (const blob of blobs) await packBlob(this.#connection, blob);
      const results = await this.#connection.patiently(() => this.#commit(batch));
      batch.forEach((entry, i) => {
        const result = results[i] as Written | RathError;
        if (RathError.is(result)) entry.reject(result);
        else entry.resolve(result);
      });
    } catch (error) {
      // One write that cannot be stored must not fail those that happened to wait beside it.
      if (batch.length > 1 && !(RathError.is(error) && failureOf(error.cause) === "busy"))
        for (const entry of batch) await this.#settle([entry]);
      else for (const entry of batch) entry.reject(error);
    }
  }

  #commit(batch: readonly Entry[]): (Written | RathError)[] {
    this.#connection.extend();
    const durable = !this.#relaxed || batch.some(({ write }) => write.relaxed !== true);
    const single = batch.length === 1 && this.#single(batch[0] as Entry, durable);
    if (single) return [{ ok: true }];
    const transact = () => this.#connection.transaction(durable, () => batch.map((entry) => this.#apply(entry)));
    try {
      return transact();
    } catch (error) {
      // Numbers given out in the transaction will be given out again.
      this.#logs.clear();
      this.#frames.forget();
      if (failureOf(error) !== "constraint") throw error;
      // Another process appended since the heads were read.
      return transact();
    }
  }

  /**
   * One frame after a head that is remembered, by far the most common write, is one statement with the epoch in its condition.
   * False when it is anything else or was refused: the transaction that follows finds out why.
   */
  #single({ branches, write, blobs }: Entry, durable: boolean): boolean {
    const [branch, ...others] = branches;
    const [frame, ...more] = branch?.frames ?? [];
    if (branch === undefined || frame === undefined || others.length + more.length + blobs.length > 0 || touchesRuns(write)) return false;
    const log = this.#logs.get(branch.session);
    const writer = frame.run === undefined ? undefined : log?.writers.get(frame.run);
    if (log === undefined || writer === undefined || log.head !== branch.expectedHead || branch.head === undefined) return false;
    if (!frame.ordered || frame.firstOrder < writer.lastOrder || log.next + frame.count >= perLog) return false;
    const { tenant, project } = this.#connection;
    const { run = null, epoch = null } = write.lease ?? {};
    const body = sealFrame(frame.body, { session: branch.session, run: frame.run, seq: log.next });
    try {
      this.#connection.durably(durable);
      const { changes } = this.#connection
        .statement(
          `INSERT INTO frames (place, writer, body) SELECT ?, ?, ? WHERE EXISTS (SELECT 1 FROM logs WHERE no = ?)
             AND (? IS NULL OR (SELECT epoch FROM runs WHERE tenant = ? AND project = ? AND id = ?) = ?)`,
        )
        .run(log.no * perLog + log.next, writer.no, body, log.no, run, tenant, project, run, epoch);
      if (Number(changes) === 0) return false;
    } catch (error) {
      if (failureOf(error) !== "constraint") throw error;
      return false;
    }
    log.next += frame.count;
    log.head = branch.head;
    writer.lastOrder = Math.max(writer.lastOrder, frame.lastOrder);
    this.unindexed.add(log.no);
    return true;
  }

  #apply({ branches, write, blobs }: Entry): Written | RathError {
    if (write.lease !== undefined) {
      const epoch = epochOf(this.#connection, write.lease.run);
      if (epoch !== write.lease.epoch) return { ok: false, reason: "epoch", epoch: epoch ?? 0 };
    }
    const heads = new Map<string, string | undefined>();
    for (const { session, expectedHead, head, frames } of branches) {
      const now = heads.has(session) ? heads.get(session) : this.#log(session, expectedHead, frames.length > 0)?.head;
      if (now !== expectedHead) return { ok: false, reason: "head", session, head: now };
      heads.set(session, head);
    }
    const conflict = write.run && keyConflict(this.#connection, write.run);
    if (conflict !== undefined) return conflict;

    for (const branch of branches) this.#insert(branch);
    for (const blob of blobs) putBlob(this.#connection, blob);
    if (write.run !== undefined) putRun(this.#connection, write.run);
    if (write.release === true && write.lease !== undefined) releaseLease(this.#connection, write.lease);
    for (const run of write.wake ?? []) wakeRun(this.#connection, run);
    return { ok: true };
  }

  /** What is remembered is used only where it agrees and an insert will prove it. */
  #log(session: string, expectedHead: string | undefined, proved: boolean): Log | undefined {
    const known = this.#logs.get(session);
    const no = findLog(this.#connection, session);
    // It may have been removed by another process, and made again.
    if (known !== undefined && known.no === no && known.head === expectedHead && proved) return known;
    const last = no === undefined ? undefined : this.#frames.lastOf(no);
    if (no === undefined || last === undefined) return undefined;
    const { count, head } = this.#frames.end(last);
    return this.#remember(session, { no, next: (last.place % perLog) + count, head, writers: new Map() });
  }

  #remember(session: string, log: Log): Log {
    if (this.#logs.size >= rememberedLogs) this.#logs.clear();
    this.#logs.set(session, log);
    return log;
  }

  #insert({ session, expectedHead, head, about, frames }: PackedBranch): void {
    if (head === undefined || frames.length === 0) return;
    let log = expectedHead === undefined ? undefined : this.#log(session, expectedHead, true);
    log ??= this.#remember(session, { no: addLog(this.#connection, session, frames[0]?.run, about), next: 0, head, writers: new Map() });
    for (const frame of frames) {
      if (log.next + frame.count >= perLog)
        throw new RathError("store.conflict", `Log ${session} is full: it has ${log.next} events. Go on in a fork of it.`);
      const writer = frame.run === undefined ? 0 : this.#writer(log, frame.run, frame);
      const place: FramePlace = { session, run: frame.run, seq: log.next };
      this.#connection
        .statement("INSERT INTO frames (place, writer, body) VALUES (?, ?, ?)")
        .run(log.no * perLog + log.next, writer, sealFrame(frame.body, place));
      log.next += frame.count;
    }
    log.head = head;
    this.unindexed.add(log.no);
  }

  /** The number under which a run writes to a log. Notes when its events are not in order there, which makes reading them dearer. */
  #writer(log: Log, run: string, frame: PackedFrame): number {
    const { tenant, project } = this.#connection;
    let writer = log.writers.get(run);
    if (writer === undefined) {
      const found = this.#connection
        .statement<{ no: number }>("SELECT no FROM writers WHERE tenant = ? AND project = ? AND run = ? AND log = ?")
        .get(tenant, project, run, log.no);
      if (found === undefined) {
        const added = this.#connection
          .statement<{ no: number }>(
            `INSERT INTO writers (no, tenant, project, run, log, ordered) VALUES (${nextNumber("writers")}, ?, ?, ?, ?, 1) RETURNING no`,
          )
          .get(tenant, project, run, log.no);
        writer = { no: (added as { no: number }).no, lastOrder: Number.NEGATIVE_INFINITY };
      } else writer = { no: found.no, lastOrder: this.#lastOrder(log.no, found.no) };
      log.writers.set(run, writer);
    }
    if (!frame.ordered || frame.firstOrder < writer.lastOrder)
      this.#connection.statement("UPDATE writers SET ordered = 0 WHERE no = ?").run(writer.no);
    writer.lastOrder = Math.max(writer.lastOrder, frame.lastOrder);
    return writer.no;
  }

  #lastOrder(log: number, writer: number): number {
    const row = this.#frames.byWriter(writer, (log + 1) * perLog - 1);
    return row === undefined ? Number.NEGATIVE_INFINITY : this.#frames.numbers(row).last.order;
  }
}

function touchesRuns({ run, release, wake }: Write): boolean {
  return run !== undefined || release === true || (wake !== undefined && wake.length > 0);
}

function packBranch({ session, expectedHead, events, about }: BranchWrite): PackedBranch {
  const frames: PackedFrame[] = [];
  let after = expectedHead;
  for (let start = 0; start < events.length; ) {
    const end = frameLimit(events, start, session);
    const chunk = start === 0 && end === events.length ? events : events.slice(start, end);
    const first = chunk[0] as StoredEvent;
    let lastOrder = first.order;
    let ordered = true;
    for (const { order } of chunk) {
      ordered &&= order >= lastOrder;
      lastOrder = Math.max(lastOrder, order);
    }
    frames.push({ run: first.run, count: chunk.length, firstOrder: first.order, lastOrder, ordered, body: encodeFrame(chunk, after) });
    after = chunk.at(-1)?.id;
    start = end;
  }
  const copy = { ...(about ?? { log: "session" }), tags: about?.tags?.slice() };
  return { session, expectedHead, head: after, about: copy, frames };
}

/** Where a frame ends: at another run, or when it is large enough. */
function frameLimit(events: readonly StoredEvent[], start: number, session: string): number {
  const first = events[start] as StoredEvent;
  let bytes = 0;
  let end = start;
  for (; end < events.length && end - start < frameEvents && bytes < frameBytes; end++) {
    const event = events[end] as StoredEvent;
    if (event.session !== session)
      throw new RathError("event.invalid", `Event ${event.id} belongs to session ${event.session} and cannot be appended to ${session}.`);
    if (event.run !== first.run) break;
    bytes += event.envelope.length + (event.data?.length ?? 0);
  }
  return end;
}
