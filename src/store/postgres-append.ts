/**
 * Appends: all that wait while a statement is under way go into the next one together, and so share one round trip and one sync.
 *
 * Everything is packed when `append` is called, so the caller's bytes are free at once. Each write is judged by itself inside the
 * database (see `migrations/postgres-first.ts`): one that is refused does not hold back those beside it. A statement whose answer
 * was lost is never repeated here: whoever appended reads the heads again.
 */
import type { Connection } from "../postgres/connection.ts";
import { RathError } from "../session/errors.ts";
import { knownBlobs, type PackedBlob, packBlob } from "./postgres-blobs.ts";
import { type PackedFrame, packFrames } from "./postgres-frames.ts";
import type { LogAbout, RunRow, Write, Written } from "./store.ts";

interface PackedBranch {
  readonly session: string;
  readonly expected: string | undefined;
  /** The head an earlier branch of the same write makes of this log, when this one does not follow it. */
  readonly moved: string | undefined;
  readonly about: LogAbout;
  readonly frames: readonly PackedFrame[];
}

interface Entry {
  readonly branches: readonly PackedBranch[];
  readonly blobs: ReadonlyMap<string, Uint8Array>;
  readonly write: Write;
  readonly bytes: number;
  readonly resolve: (written: Written) => void;
  readonly reject: (error: unknown) => void;
}

/** What the function in the database says of a write that it refused. */
interface Refusal {
  readonly epoch?: number;
  readonly session?: string;
  readonly head?: string | null;
  readonly holder?: string;
}

const batchEntries = 256;
const batchBytes = 4 * 1024 * 1024;
const mostTries = 50;
const sql = `WITH held AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared(${logsOf("$1::text", "$2::text")}))
  SELECT openrath.append($1, $2, $3, $4) AS refused FROM held`;

/** What all who append to the logs of a project hold until they have stored, and who removes some of them holds alone. */
export function logsOf(tenant: string, project: string): string {
  return `hashtextextended('openrath.logs ' || json_build_array(${tenant}, ${project}), 0)`;
}

export class Appends {
  readonly #connection: Connection;
  readonly #relaxed: boolean;
  readonly #onGrown: (sessions: Iterable<string>) => void;
  #queue: Entry[] = [];
  #flushing: Promise<void> | undefined;

  constructor(connection: Connection, relaxed: boolean, onGrown: (sessions: Iterable<string>) => void) {
    this.#connection = connection;
    this.#relaxed = relaxed;
    this.#onGrown = onGrown;
  }

  async add(write: Write): Promise<Written> {
    // Refused before it is packed, when the store is closed.
    if (this.#connection.closed) await this.#connection.open();
    return new Promise((resolve, reject) => {
      const branches = packBranches(write);
      const blobs = new Map((write.blobs ?? []).map(({ hash, bytes }) => [hash, new Uint8Array(bytes)]));
      const bytes = [...branches.flatMap(({ frames }) => frames.map(({ body }) => body)), ...blobs.values()].reduce(
        (sum, one) => sum + one.length,
        0,
      );
      const copy = { ...write, run: write.run && { ...write.run }, wake: write.wake?.slice() };
      this.#queue.push({ branches, blobs, write: copy, bytes, resolve, reject });
      this.#flushing ??= this.#flush();
    });
  }

  /** Resolves when nothing is waiting any more. */
  async settled(): Promise<void> {
    while (this.#flushing !== undefined) await this.#flushing;
  }

  async #flush(): Promise<void> {
    // Those of the same turn come along.
    await undefined;
    while (this.#queue.length > 0) await this.#settle(this.#next());
    this.#flushing = undefined;
  }

  /** As many as fit, in their order. No two in one statement touch the same log or run row, since each is judged by what was there before. */
  #next(): Entry[] {
    const named = new Set<string>();
    let bytes = 0;
    let end = 0;
    for (; end < this.#queue.length && end < batchEntries; end++) {
      const entry = this.#queue[end] as Entry;
      const names = namesOf(entry);
      bytes += entry.bytes;
      if (end > 0 && (bytes > batchBytes || names.some((name) => named.has(name)))) break;
      for (const name of names) named.add(name);
    }
    return this.#queue.splice(0, end);
  }

  async #settle(batch: readonly Entry[]): Promise<void> {
    try {
      const refused = await this.#store(batch);
      this.#onGrown(
        new Set(
          batch.flatMap((entry, i) =>
            refused[i] === undefined ? entry.branches.filter((b) => b.frames.length > 0).map((b) => b.session) : [],
          ),
        ),
      );
      batch.forEach((entry, i) => {
        const written = writtenOf(entry, refused[i]);
        if (RathError.is(written)) entry.reject(written);
        else entry.resolve(written);
      });
    } catch (error) {
      // One write that cannot be stored must not fail those that happened to wait beside it.
      if (batch.length > 1 && RathError.is(error, "store.conflict")) for (const entry of batch) await this.#settle([entry]);
      else for (const entry of batch) entry.reject(error);
    }
  }

  async #store(batch: readonly Entry[]): Promise<Readonly<Record<number, Refusal>>> {
    const blobs = new Map(batch.flatMap((entry) => [...entry.blobs]));
    const packed = new Map<string, PackedBlob>();
    const { tenant, project } = this.#connection;
    let known = await knownBlobs(this.#connection, blobs);
    for (let tries = 1; ; tries++) {
      for (const [name, bytes] of blobs) if (!known.has(name) && !packed.has(name)) packed.set(name, await packBlob(name, bytes));
      const { meta, bodies } = assemble(batch, packed, this.#relaxed);
      try {
        const [row] = await this.#connection.write<{ refused: string }>(sql, [tenant, project, meta, bodies]);
        return JSON.parse((row as { refused: string }).refused) as Record<number, Refusal>;
      } catch (error) {
        const state = RathError.is(error, "store.conflict") ? error.details["sqlState"] : undefined;
        // Somebody else appended since the heads were read, or removed a blob: nothing was stored, and what is there is looked at again.
        if ((state !== "23505" && state !== "RB001") || tries >= mostTries) throw error;
        known = new Set();
      }
    }
  }
}

function packBranches({ branches }: Write): PackedBranch[] {
  const heads = new Map<string, string | undefined>();
  return branches.map(({ session, expectedHead, events, about }) => {
    const moved = heads.has(session) ? heads.get(session) : undefined;
    heads.set(session, events.at(-1)?.id ?? moved ?? expectedHead);
    const copy = { ...(about ?? { log: "session" as const }), tags: about?.tags?.slice() };
    return { session, expected: expectedHead, moved, about: copy, frames: packFrames(session, events, expectedHead) };
  });
}

/** What two writes in one statement must not share. */
function namesOf({ branches, write }: Entry): string[] {
  const names = branches.map(({ session }) => `log ${session}`);
  if (write.run !== undefined) {
    names.push(`run ${write.run.id}`);
    if (write.run.key !== undefined) names.push(`key ${write.run.key}`);
  }
  return [...new Set(names)];
}

/** Everything a batch is made of, as the function in the database reads it: what it says, and the bytes in one piece. */
function assemble(batch: readonly Entry[], packed: ReadonlyMap<string, PackedBlob>, relaxed: boolean): { meta: string; bodies: Buffer } {
  const lists = { leases: [], branches: [], keys: [], logs: [], frames: [], blobs: [], runs: [], releases: [], wakes: [] } as Record<
    string,
    object[]
  >;
  const add = (list: string, row: object): void => void lists[list]?.push(row);
  const bodies: Uint8Array[] = [];
  let at = 0;
  const place = (body: Uint8Array): { at: number; length: number } => {
    bodies.push(body);
    at += body.length;
    return { at: at - body.length, length: body.length };
  };
  const blobs = new Map<string, number[]>();

  batch.forEach(({ branches, write, blobs: own }, entry) => {
    const { lease, run, release, wake } = write;
    if (lease !== undefined) add("leases", { entry, run: lease.run, epoch: lease.epoch });
    const ends = new Map<string, { branch: number; after: number }>();
    for (const { session, expected, moved, about, frames } of branches) {
      const i = (lists["branches"] as object[]).length + 1;
      add("branches", { i, entry, session, expected, moved });
      // What follows an earlier branch of the same write is placed after it.
      const end = ends.get(session) ?? { branch: i, after: 0 };
      ends.set(session, end);
      if (expected === undefined && frames.length > 0)
        add("logs", { i, entry, session, ...about, tags: about.tags ?? [], run: frames[0]?.run });
      for (const { body, ...frame } of frames) {
        add("frames", { entry, session, branch: end.branch, after: end.after, ...frame, ...place(body) });
        end.after += frame.count;
      }
    }
    for (const name of own.keys()) blobs.set(name, [...(blobs.get(name) ?? []), entry]);
    if (run?.key !== undefined) add("keys", { entry, run: run.id, key: run.key });
    if (run !== undefined) add("runs", { entry, ...rowOf(run), free: release === true || lease === undefined });
    if (release === true && lease !== undefined) add("releases", { entry, run: lease.run });
    for (const woken of new Set(wake ?? [])) add("wakes", { entry, run: woken });
  });
  for (const [hash, entries] of blobs) {
    const blob = packed.get(hash);
    add("blobs", { entries, hash, ...(blob && { deflated: blob.deflated, ...place(blob.body) }) });
  }
  const locks = locksOf(batch);
  const meta: Record<string, unknown> = Object.fromEntries(Object.entries(lists).filter(([, rows]) => rows.length > 0));
  lists["leases"]?.sort((a, b) => ((a as { run: string }).run < (b as { run: string }).run ? -1 : 1));
  if (locks.length > 0) meta["locks"] = locks;
  if (relaxed && batch.every(({ write }) => write.relaxed === true)) meta["relaxed"] = true;
  return { meta: JSON.stringify(meta), bodies: Buffer.concat(bodies, at) };
}

/** Runs that are locked first and in one order, where the batch changes some: two processes that do so wait, and do not block each other. */
function locksOf(batch: readonly Entry[]): string[] {
  const changes = batch.some(({ write }) => write.release === true || write.run !== undefined || (write.wake?.length ?? 0) > 0);
  if (!changes) return [];
  const runs = new Set(
    batch.flatMap(({ write: { lease, run, wake } }) => [...(lease ? [lease.run] : []), ...(run ? [run.id] : []), ...(wake ?? [])]),
  );
  return runs.size > 1 ? [...runs] : [];
}

function rowOf({ id, key, session, workflow, status, wakeAt, priority }: RunRow): object {
  return { id, key, session, workflow, status, wake_at: wakeAt, priority: priority ?? 0 };
}

function writtenOf({ write }: Entry, refused: Refusal | undefined): Written | RathError {
  if (refused === undefined) return { ok: true };
  if (refused.epoch !== undefined) return { ok: false, reason: "epoch", epoch: refused.epoch };
  if (refused.holder === undefined)
    return { ok: false, reason: "head", session: refused.session as string, head: refused.head ?? undefined };
  const { id, key } = write.run as RunRow;
  return new RathError(
    "store.conflict",
    `Run ${id} was not stored: its key "${key}" belongs to run ${refused.holder}. Use that run, or another key.`,
    {
      details: { run: id, key, holder: refused.holder },
    },
  );
}
