/**
 * Writes what an execution recorded. Everything recorded so far in the whole run goes to disk in one commit, ancestors first.
 * A stale head means that somebody else continued the branch: what is unwritten is linked again as an implicit fork.
 * A stale epoch means that the run was taken over: nothing is written any more.
 */
import { RathError } from "../session/errors.ts";
import type { Scope } from "../session/id.ts";
import { current, type Log, type LogOwner, type Node, placesBefore } from "../session/log.ts";
import type { BranchWrite, Lease, RunRow, Store, Write, Written } from "../store/store.ts";
import { piecesOf } from "./parents-first.ts";
import { linkAgain, relink } from "./relink.ts";
import type { Services } from "./services.ts";

export interface WriterOwner extends LogOwner {
  readonly id: string;
  readonly lease: Lease | undefined;
  /** Names implicit forks made because a branch was continued elsewhere. */
  readonly scope: { readonly run: string };
  /** The run's own log. */
  readonly log: Log;
  readonly signer: { takeBack(): void };
  ordinal(head: Node, scope: Scope, name: string): number;
  fence(epoch: number): void;
}

/** What goes with one commit. */
interface Taken {
  readonly nodes: readonly Node[];
  readonly row: RunRow | undefined;
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
  /** What ours stand on and other executions are about to write. */
  readonly #after = new Set<Node>();
  #buffer: Node[] = [];
  #row: RunRow | undefined;
  #last = false;
  #abandoned = false;
  #store: Store | undefined;
  /** Written perhaps: the store did not say. */
  #doubtful: readonly (readonly Node[])[] | undefined;
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
    return this.#buffer.length > 0 || this.#row !== undefined || this.#after.size > 0;
  }
  get overdue(): boolean {
    return this.#buffer.length >= largestBuffer || (this.#buffer.length > 0 && performance.now() - this.#since > oldestMs);
  }

  /** Puts an event, and before it whatever it stands on that is not on disk, into the next commit. */
  add(node: Node): void {
    if (node.stored) return;
    if (node.queued !== undefined) {
      // Whoever waits for ours waits for theirs.
      if (node.queued !== this) this.#after.add(node);
      return;
    }
    const path: Node[] = [node];
    while (path.length > 0) {
      const next = current(path[path.length - 1] as Node);
      const missing = placesBefore(next).filter((place) => isAside(current(place)));
      if (missing.length > 0 && isAside(next)) path.push(...missing);
      else {
        path.pop();
        if (!isAside(next)) continue;
        if (placesBefore(next).some(isMoved)) this.add(this.#linkAgain(next));
        else this.#take(next);
      }
    }
  }

  /** What it stands on was linked again when nobody knew of it. */
  #linkAgain(node: Node): Node {
    return linkAgain(this.#runtime, node, this.#owner.scope, (base, scope) => this.#owner.ordinal(base, scope, "implicit"));
  }

  /** What a workflow made belongs to its record, whoever writes it first: the workflow makes it again when it is executed again. */
  #take(node: Node): void {
    const { owner, tip } = node.log;
    if (owner !== undefined && owner !== this.#owner && tip?.atStep(node.step) === node) owner.record(node);
    if (isAside(node)) this.#push(node);
  }

  #push(node: Node): void {
    for (const place of placesBefore(node)) if (place.queued !== undefined && place.queued !== this) this.#after.add(place);
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
    if (this.#after.size === 0) return this.#commit(relaxed);
    return this.#part(relaxed).then(() => this.flush(relaxed));
  }

  /** One commit: of everything, or of so many events from the first on. */
  async #commit(relaxed: boolean, length?: number): Promise<void> {
    const taken = length === undefined ? this.#takeAll() : { nodes: this.#buffer.splice(0, length), row: undefined };
    if (taken.nodes.length === 0 && taken.row === undefined) return;
    this.#writing = this.#write(taken, relaxed);
    return this.#writing;
  }

  /** All that is to be written now; where signing fails, nothing is taken. */
  #takeAll(): Taken {
    this.beforeWrite();
    this.#followMoved();
    const nodes = this.#buffer;
    this.#buffer = [];
    return { nodes, row: this.#takeRow() };
  }

  /** One commit of what stands on nothing that others are about to write; if there is nothing like that, one commit of theirs. They may wait for ours too. */
  #part(relaxed: boolean, waiting: readonly Writer[] = []): Promise<void> {
    if (this.#writing !== undefined) return this.#writing;
    this.#followMoved();
    for (const node of this.#after) this.#lookAgain(node);
    if (this.#after.size === 0) return this.pending ? this.#commit(relaxed) : Promise.resolve();
    const { length, until } = this.#beginning();
    if (length > 0) return this.#commit(relaxed, length);
    const other = until.queued as Writer;
    // Whoever stands on something was recorded after it.
    if (waiting.includes(other))
      return Promise.reject(new Error(`Runs ${[...waiting, other].map((one) => one.#owner.id)} wait for each other.`));
    return other.#part(relaxed, [...waiting, this]);
  }

  /** Whether something of theirs is still waited for. What was let go by whoever was about to write it goes before ours. */
  #lookAgain(node: Node): void {
    const at = current(node);
    if (at.queued instanceof Writer && at.queued !== this && (at.queued.pending || at.queued.#writing !== undefined)) return;
    if (at.queued !== this) at.queued = undefined;
    this.#after.delete(node);
    if (!at.stored) this.#addAgain();
  }

  /** How many of ours can go now, and what of theirs the next one waits for. */
  #beginning(): { readonly length: number; readonly until: Node } {
    const theirs = new Set([...this.#after].map(current));
    let length = 0;
    let until: Node | undefined;
    for (; length < this.#buffer.length && until === undefined; length++)
      until = placesBefore(this.#buffer[length] as Node).find((place) => theirs.has(current(place)));
    const [any] = theirs;
    const all = until === undefined ? { length, until: any as Node } : { length: length - 1, until: current(until) };
    // A run that has begun has its input on disk.
    const begun = this.#buffer.findIndex(({ kind }) => kind === "run.started");
    if (begun < 0 || begun >= all.length) return all;
    const { head } = (this.#buffer[begun] as Node).data<"run.started">(this.#runtime.platform).input;
    const input = [...theirs].find(({ id }) => id === head);
    if (input === undefined && this.#buffer.findIndex(({ id }) => id === head) < all.length) return all;
    return { length: begun, until: input ?? all.until };
  }

  /** Waits at least once, so that it is known to be under way before it is over. */
  async #write(taken: Taken, relaxed: boolean): Promise<void> {
    let { nodes, row } = taken;
    try {
      for (;;) {
        const written = await this.#append(nodes, row, relaxed);
        if (written.ok) break;
        if (written.reason === "epoch") {
          this.#owner.fence(written.epoch);
          throw fenced(this.#owner.id, written.epoch);
        }
        if (await this.#landed()) nodes = nodes.filter((node) => !node.stored);
        else {
          if (written.head === undefined) await this.#refuseRemoved(nodes, written.session);
          // All that is unwritten moves, what came meanwhile too, and the newest row with it.
          this.#row ??= row;
          nodes = this.#relink(nodes, written.session);
          row = this.#buffer.length === 0 ? this.#takeRow() : undefined;
          await this.#runtime.memories.noteMoved(nodes);
        }
        if (nodes.length === 0 && row === undefined) return;
      }
      for (const node of nodes) this.#stored(node);
    } catch (error) {
      if (this.#abandoned || this.#isFinal(error)) {
        this.#letGo(nodes);
        // What came meanwhile and stands on them is tried with them, and told the same.
        if (this.#buffer.some((node) => placesBefore(node).some(isAside))) this.#addAgain();
      } else {
        // Nothing is lost: whoever writes next tries again.
        this.#buffer = [...nodes, ...this.#buffer];
        this.#row ??= row;
      }
      throw error;
    } finally {
      this.#writing = undefined;
    }
  }

  /** It will never be stored as it is, and nobody has a lease that would end with it: what comes later need not fail with it. */
  #isFinal(error: unknown): boolean {
    return this.#owner.lease === undefined && (RathError.is(error, "store.conflict") || RathError.is(error, "session.not-found"));
  }

  /** Whoever holds them may try to save them again. */
  #letGo(nodes: readonly Node[]): void {
    const first = Math.min(this.order, ...nodes.map((node) => node.order));
    const gone = new Set(nodes);
    for (const node of nodes) node.queued = undefined;
    this.unsigned = this.unsigned.filter((node) => !gone.has(node));
    this.#renumber(this.#buffer, first);
  }

  /** Retention removed the log that these continue: there is nothing to fork them from. */
  async #refuseRemoved(nodes: readonly Node[], session: string): Promise<void> {
    const removed = nodes.some((node) => node.log.id === session && node.log.storedHead !== undefined);
    if (!removed || (await this.#runtime.storedHead(session)) !== undefined) return;
    const problem = `Session ${session} was removed from the store meanwhile: what was added to it here cannot be stored. Begin a new session.`;
    throw new RathError("session.not-found", problem, { details: { session } });
  }

  /** What ours stand on was let go by whoever was about to write it: it goes before them. */
  #addAgain(): void {
    const ours = new Set(this.#buffer.map(current));
    const tell = this.onAdded;
    this.#buffer = [];
    this.#letGo([...ours]);
    this.onAdded = (node) => void (ours.has(node) || tell(node)); // they were told of before
    for (const node of ours) this.add(node);
    this.onAdded = tell;
  }

  /** It goes with the last event that was recorded before it. */
  #takeRow(): RunRow | undefined {
    const row = this.#row;
    this.#row = undefined;
    return row;
  }

  async #append(nodes: readonly Node[], row: RunRow | undefined, relaxed: boolean): Promise<Written> {
    const astray = firstAstray(nodes);
    if (astray !== undefined) return { ok: false, reason: "head", session: astray.log.id, head: undefined };
    const store = this.#store ?? (await this.#runtime.store());
    this.#store = store;
    const branches = this.#branches(nodes);
    const { lease } = this.#owner;
    const release = this.#last && row !== undefined && lease !== undefined;
    try {
      const written = await store.append({ branches, blobs: blobsOf(nodes), lease, run: row, relaxed, ...(release ? { release } : {}) });
      if (written.ok) this.#doubtful = undefined;
      if (written.ok && release) this.released = true;
      return written;
    } catch (error) {
      // The outcome is not known: it is, once the store is asked for its events, now or when the next write is refused. It may land later.
      this.#doubtful = this.#doubtful === undefined ? [nodes] : [...this.#doubtful, nodes];
      if (!(await isStored(store, nodes))) throw error;
      this.#doubtful = undefined;
      if (release) this.released = true;
      return { ok: true };
    }
  }

  /** What is in our way is our own: a commit whose acknowledgement was lost. Somebody else may have gone on after it. */
  async #landed(): Promise<boolean> {
    const doubtful = this.#doubtful;
    if (doubtful === undefined || this.#store === undefined) return false;
    for (const nodes of doubtful.toReversed()) {
      if (!(await isStored(this.#store, nodes))) continue;
      this.#doubtful = undefined;
      for (const node of nodes) if (!node.stored) this.#stored(node);
      return true;
    }
    return false;
  }

  /** Whoever follows the feed is given parents first: a log that another one stands on, and that stands on it, comes in pieces. */
  #branches(nodes: readonly Node[]): BranchWrite[] {
    const heads = new Map<Log, string>();
    return piecesOf(nodes, (node) => ({ log: node.log, id: node, parents: placesBefore(node) })).map(({ log, events: piece }) => {
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
    const moved = relink(this.#runtime, log, kept, this.#owner.scope, (base, scope) => this.#owner.ordinal(base, scope, "implicit"));
    this.#wentTo(log, (moved[0] as Node).log);
    for (const node of kept) if (current(node).log !== node.log) this.#wentTo(node.log, current(node).log);
    this.#renumber(moved, first);
    // What came meanwhile may stand on something that others are about to write.
    const sent = new Set(this.#after.size === 0 ? moved : [moved[0], ...nodes.map(current)]);
    this.#buffer = moved.filter((node) => !sent.has(node));
    return moved.filter((node) => sent.has(node));
  }

  /** Somebody else linked again what ours stands on, and ours with it: what was said of it is said again. */
  #followMoved(): void {
    const before = this.#buffer;
    if (before.every((node) => node.moved === undefined)) return;
    const first = Math.min(...before.map((node) => node.order));
    for (const node of before) if (current(node).log !== node.log) this.#wentTo(node.log, current(node).log);
    for (const node of before.map(current))
      if (node.kind === "run.started" && this.#row !== undefined)
        this.#row = { ...this.#row, session: node.data<"run.started">(this.#runtime.platform).input.session };
    this.#buffer = [...this.#withoutVerdicts(before.map(current))];
    this.#renumber(this.#buffer, first);
  }

  #wentTo(log: Log, fork: Log): void {
    this.#owner.movedTo(log, fork);
    // A run that has not begun works on what it is given.
    if (this.#row?.session === log.id && this.#owner.log.storedHead === undefined) this.#row = { ...this.#row, session: fork.id };
  }

  /** The order of what is unwritten has no gaps and nothing twice. */
  #renumber(nodes: readonly Node[], from: number): void {
    this.order = from;
    this.unsigned = this.unsigned.filter((node) => node.stored);
    for (const node of nodes) this.#number(node);
  }

  /** What the run says about ids that are about to change is taken back, and its row with it; whoever said it says it again. */
  #withoutVerdicts(nodes: readonly Node[]): readonly Node[] {
    const first = nodes.find((node) => node.log === this.#owner.log && !lasting.has(node.kind));
    if (first === undefined) return nodes;
    if (nodes.some((node) => node.kind === "run.signed")) this.#owner.signer.takeBack();
    this.#owner.log.tip = first.prior;
    this.#row = undefined;
    this.#last = false;
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
    node.log.keep(node);
    if (node.prior !== undefined) return;
    this.#runtime.know(node.log);
    if (node.log.movedFrom !== undefined) this.#runtime.warnMoved(node.log.movedFrom);
  }
}

/** Commits are whole: one of their events stands for all. */
async function isStored(store: Store, nodes: readonly Node[]): Promise<boolean> {
  const ids = nodes.slice(-1).map(({ id }) => id);
  if (ids.length > 0) for await (const { id } of store.events({ ids })) if (ids.includes(id)) return true;
  return false;
}

/** Neither on disk nor about to be. */
function isAside({ stored, queued }: Node): boolean {
  return !stored && queued === undefined;
}

function isMoved({ moved }: Node): boolean {
  return moved !== undefined;
}

/** What does not continue its log: that has gone on without it. */
function firstAstray(nodes: readonly Node[]): Node | undefined {
  const tips = new Map<Log, Node>();
  for (const node of nodes) {
    if (node.prior !== (tips.get(node.log) ?? node.log.storedHead)) return node;
    tips.set(node.log, node);
  }
  return undefined;
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
