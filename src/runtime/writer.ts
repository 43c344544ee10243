/**
 * Writes what an execution recorded. Everything recorded so far in the whole run goes to disk in one commit, ancestors first.
 * A stale head means that somebody else continued the branch: what is unwritten is linked again as an implicit fork.
 * A stale epoch means that the run was taken over: nothing is written any more.
 */
import { RathError } from "../session/errors.ts";
import type { Scope } from "../session/id.ts";
import type { Log, Node } from "../session/log.ts";
import type { BranchWrite, Lease, RunRow, Store, Write, Written } from "../store/store.ts";
import { piecesOf } from "./parents-first.ts";
import { relink } from "./relink.ts";
import type { Services } from "./services.ts";

export interface WriterOwner {
  readonly id: string;
  readonly lease: Lease | undefined;
  /** Names implicit forks made because a branch was continued elsewhere. */
  readonly scope: { readonly run: string };
  /** The run's own log. */
  readonly log: Log;
  readonly signer: { takeBack(): void };
  ordinal(head: Node, scope: Scope, name: string): number;
  /** What was unwritten of a log goes on as a fork of it. */
  movedTo(log: Log, fork: Log): void;
  fence(epoch: number): void;
}

const largestBuffer = 256;
const oldestMs = 5;

/** What a run says of itself that stays true when a branch has moved. */
const lasting: ReadonlySet<string> = new Set([
  "run.started",
  "run.resumed",
  "run.spawned",
  "run.asked",
  "run.forked",
  "sandbox.opened",
  "sandbox.closed",
  "workspace.captured",
  "budget.crossed",
]);

export class Writer {
  readonly #runtime: Services;
  readonly #owner: WriterOwner;
  readonly #after = new Set<Writer>();
  #buffer: Node[] = [];
  #row: RunRow | undefined;
  #last = false;
  #abandoned = false;
  #store: Store | undefined;
  /** Written perhaps: the store did not say. */
  #doubtful: readonly Node[] | undefined;
  #since = 0;
  #writing: Promise<void> | undefined;
  /** Position of the next event in the run's order. */
  order = 0;
  /** Events in order since the last signed statement. */
  unsigned: Node[] = [];
  /** The lease was given back with the last commit. */
  released = false;
  /** The last commit left out what the run said of itself, because a branch had moved. */
  retracted = false;
  /** Adds a signed statement to what is about to be written, when one is due. */
  beforeWrite: () => void = () => {};
  /** Told of every event that takes its place in the run's order. */
  onAdded: (node: Node) => void = () => {};

  constructor(runtime: Services, owner: WriterOwner) {
    this.#runtime = runtime;
    this.#owner = owner;
  }

  get pending(): boolean {
    return this.#buffer.length > 0 || this.#row !== undefined;
  }
  get overdue(): boolean {
    return this.#buffer.length >= largestBuffer || (this.#buffer.length > 0 && performance.now() - this.#since > oldestMs);
  }

  /** Puts an event, and before it whatever it stands on that is not on disk, into the next commit. */
  add(node: Node): void {
    if (node.stored || node.queued !== undefined) return;
    const path: Node[] = [node];
    while (path.length > 0) {
      const next = path[path.length - 1] as Node;
      const missing = standsOn(next).filter((place) => !place.stored && place.queued === undefined);
      if (missing.length > 0 && next.queued === undefined) path.push(...missing);
      else {
        path.pop();
        if (next.queued === undefined && !next.stored) this.#push(next);
      }
    }
  }

  #push(node: Node): void {
    for (const place of standsOn(node)) if (place.queued instanceof Writer && place.queued !== this) this.#after.add(place.queued);
    if (this.#buffer.length === 0) this.#since = performance.now();
    this.#number(node);
    this.#buffer.push(node);
    this.onAdded(node);
  }

  #number(node: Node): void {
    node.queued = this;
    node.run = this.#owner.id;
    node.order = this.order++;
    this.unsigned.push(node);
  }

  /** The run's row goes with the next commit; with the last one the lease is given back too. */
  setRow(row: RunRow, last = false): void {
    this.#row = row;
    this.#last = last;
  }

  /** The lease is given back with the next commit, or was. */
  get last(): boolean {
    return this.#last;
  }

  /** Resolves when everything recorded so far is on disk. */
  flush(relaxed = false): Promise<void> {
    // What somebody else's write failed at is tried again; who was taken over writes nothing more.
    if (this.#writing !== undefined)
      return this.#writing.then(
        () => this.flush(relaxed),
        (error: unknown) => (RathError.is(error, "run.fenced") ? Promise.reject(error) : this.flush(relaxed)),
      );
    if (!this.pending) return Promise.resolve();
    this.#writing = this.#write(relaxed);
    return this.#writing;
  }

  async #write(relaxed: boolean): Promise<void> {
    let nodes: readonly Node[] = [];
    let row: RunRow | undefined;
    try {
      if (this.#after.size > 0) await this.#writeOthers();
      this.beforeWrite();
      nodes = this.#buffer;
      row = this.#row;
      this.#buffer = [];
      this.#row = undefined;
      for (;;) {
        const written = await this.#append(nodes, row, relaxed);
        if (written.ok) break;
        if (written.reason === "epoch") {
          this.#owner.fence(written.epoch);
          throw fenced(this.#owner.id, written.epoch);
        }
        if (this.#landed(written.head)) nodes = nodes.filter((node) => !node.stored);
        else {
          if (written.head === undefined) await this.#refuseRemoved(nodes, written.session);
          nodes = this.#relink(nodes, written.session);
          // What was said last is said again, and its row with it.
          if (this.retracted) row = undefined;
          await this.#runtime.memories.noteMoved(nodes);
        }
        if (nodes.length === 0 && row === undefined) return;
      }
      for (const node of nodes) this.#stored(node);
    } catch (error) {
      // Nothing is lost: whoever writes next tries again.
      this.#buffer = [...nodes, ...this.#buffer];
      this.#row ??= row;
      throw error;
    } finally {
      this.#writing = undefined;
    }
  }

  /** Retention removed the log that these continue: there is nothing to fork them from. */
  async #refuseRemoved(nodes: readonly Node[], session: string): Promise<void> {
    const removed = nodes.some((node) => node.log.id === session && node.log.storedHead !== undefined);
    if (!removed || (await this.#runtime.storedHead(session)) !== undefined) return;
    const problem = `Session ${session} was removed from the store meanwhile: what was added to it here cannot be stored. Begin a new session.`;
    throw new RathError("session.not-found", problem, { details: { session } });
  }

  /** What ours stands on and another execution recorded is written first. */
  async #writeOthers(): Promise<void> {
    const others = [...this.#after];
    this.#after.clear();
    for (const other of others) await other.flush();
  }

  async #append(nodes: readonly Node[], row: RunRow | undefined, relaxed: boolean): Promise<Written> {
    const orphan = nodes.find((node) => node.prior?.stored === true && node.log.storedHead !== node.prior);
    if (orphan !== undefined) return { ok: false, reason: "head", session: orphan.log.id, head: undefined };
    const store = this.#store ?? (await this.#runtime.store());
    this.#store = store;
    const branches = this.#branches(nodes);
    const { lease } = this.#owner;
    const release = this.#last && row !== undefined && lease !== undefined;
    try {
      const written = await store.append({ branches, blobs: blobsOf(nodes), lease, run: row, relaxed, ...(release ? { release } : {}) });
      if (written.ok && release) this.released = true;
      return written;
    } catch (error) {
      // The outcome is not known: it is, once the heads are read again, now or when the next write meets them.
      this.#doubtful = nodes;
      const ends = new Map(branches.map(({ session, events }) => [session, events.at(-1)?.id]));
      const heads = await Promise.all([...ends.keys()].map(async (session) => this.#runtime.storedHead(session)));
      this.#doubtful = undefined;
      if (branches.length > 0 && [...ends.values()].every((end, index) => heads[index] === end)) {
        if (release) this.released = true;
        return { ok: true };
      }
      throw error;
    }
  }

  /** The head that is in our way is our own: a commit whose acknowledgement was lost, whole as every commit. */
  #landed(head: string | undefined): boolean {
    const doubtful = this.#doubtful;
    this.#doubtful = undefined;
    if (head === undefined || doubtful?.some((node) => node.id === head) !== true) return false;
    for (const node of doubtful) this.#stored(node);
    return true;
  }

  /** Whoever follows the feed is given parents first: a log that another one stands on, and that stands on it, comes in pieces. */
  #branches(nodes: readonly Node[]): BranchWrite[] {
    const heads = new Map<Log, string>();
    return piecesOf(nodes, (node) => ({ log: node.log, id: node, parents: standsOn(node) })).map(({ log, events: piece }) => {
      const events = piece.map((node) => this.#runtime.toStored(node));
      const expectedHead = heads.get(log) ?? log.storedHead?.id;
      heads.set(log, (piece.at(-1) as Node).id);
      if (expectedHead !== undefined) return { session: log.id, expectedHead, events };
      const parent = log.first?.parent?.log.id;
      return { session: log.id, expectedHead, events, about: { log: log.kind, ...log.about, ...(parent === undefined ? {} : { parent }) } };
    });
  }

  #relink(nodes: readonly Node[], session: string): Node[] {
    const log = nodes.find((node) => node.log.id === session)?.log;
    if (log?.storedHead === undefined) {
      throw new RathError("store.conflict", `Log ${session} was created by somebody else first. Open it and continue from there.`, {
        details: { session },
      });
    }
    const { lease } = this.#owner;
    if (log === this.#owner.log && lease !== undefined) {
      // A run has one log of its own: who does not know its end does not hold the run as it is.
      this.#owner.fence(lease.epoch);
      throw fenced(this.#owner.id, lease.epoch);
    }
    const first = Math.min(...nodes.map((node) => node.order));
    const kept = this.#withoutVerdicts([...nodes, ...this.#buffer]);
    // Work inside an effect stays inside it, so that a resumed program finds it there.
    const scope = log.fork !== undefined && "call" in log.fork.scope ? log.fork.scope : this.#owner.scope;
    const moved = relink(this.#runtime, log, kept, scope, this.#owner.ordinal(log.storedHead, scope, "implicit"));
    this.#owner.movedTo(log, (moved[0] as Node).log);
    this.#runtime.warnMoved(log);
    this.#renumber(moved, first);
    this.#buffer = [];
    return moved;
  }

  /** The order of what is unwritten has no gaps and nothing twice. */
  #renumber(nodes: readonly Node[], from: number): void {
    this.order = from;
    this.unsigned = this.unsigned.filter((node) => node.stored);
    for (const node of nodes) this.#number(node);
  }

  /** What the run says about ids that are about to change is taken back; whoever said it says it again. */
  #withoutVerdicts(nodes: readonly Node[]): readonly Node[] {
    const first = nodes.find((node) => node.log === this.#owner.log && !lasting.has(node.kind));
    if (first === undefined) return nodes;
    if (nodes.some((node) => node.kind === "run.signed")) this.#owner.signer.takeBack();
    this.#owner.log.tip = first.prior;
    this.retracted = true;
    return nodes.filter((node) => node.log !== this.#owner.log || node.seq < first.seq);
  }

  /** Lets go of what will not be written by this execution any more; somebody else may. */
  abandon(): void {
    for (const node of this.#buffer) node.queued = undefined;
    this.#buffer = [];
    this.#row = undefined;
    this.#abandoned = true;
  }

  #stored(node: Node): void {
    node.stored = true;
    node.queued = undefined;
    node.sealed = undefined;
    node.blobs = undefined; // its data is decoded
    // Its log may have been rewound while it was on its way: whoever loads the log again finds it in the store.
    if (this.#abandoned && node.log.tip?.atStep(node.step) !== node) return;
    node.log.storedHead = node;
    if (node.prior === undefined) this.#runtime.know(node.log);
  }
}

/** Its parents, and for a detached session where its content comes from. */
function standsOn(node: Node): readonly Node[] {
  const { origin } = node.log;
  return origin === undefined || node.prior !== undefined ? node.parents : [...node.parents, origin];
}

function blobsOf(nodes: readonly Node[]): Write["blobs"] {
  let blobs: { readonly hash: string; readonly bytes: Uint8Array }[] | undefined;
  for (const node of nodes) {
    if (node.blobs === undefined) continue;
    blobs ??= [];
    for (const [hash, bytes] of node.blobs) blobs.push({ hash, bytes });
  }
  return blobs;
}

export function fenced(run: string, epoch: number): RathError {
  return new RathError("run.fenced", `Run ${run} was taken over by another worker (epoch ${epoch}); this one stops.`, {
    details: { run, epoch },
  });
}
