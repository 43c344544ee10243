/**
 * Logs and places in them. A Node is an event in memory, linked to its parents; a Log is the line of events one session wrote.
 * Appending is O(1); `atStep` follows first parents by jump pointers in O(log n); ancestors are version vectors
 * {log → newest position}, since each event of a log has the one before it among its parents.
 */
import { dataText, type Sealed, upcast } from "./codec.ts";
import { RathError } from "./errors.ts";
import { type DataOf, type Event, type EventKind, type Facts, isCalled, isReturned } from "./event.ts";
import type { EventId, Scope, SessionId } from "./id.ts";
import { decode, withOwnBytes } from "./json.ts";
import type { Platform } from "./platform.ts";
import { Vector } from "./vector.ts";

/** An event in memory. Only the runtime writes its bookkeeping fields. */
export class Node {
  readonly id: EventId;
  readonly kind: EventKind;
  readonly version: number;
  readonly step: number;
  readonly at: string;
  readonly by: string;
  readonly facts: Facts;
  readonly log: Log;
  readonly parents: readonly Node[];
  /** The event before it in its own log. */
  readonly prior: Node | undefined;
  /** Its place in its own log, from 0. */
  readonly seq: number;
  /** How many first parents it has. */
  readonly #depth: number;
  readonly #jump: Node;

  /** Who wrote it and its place in that run's order: beside the event, outside its id. */
  run: string | undefined;
  order = -1;
  /** On disk. */
  stored = false;
  /** Whose next commit it is written with. */
  queued: object | undefined;
  /** Where it went when its log was continued elsewhere first. */
  moved: Node | undefined;
  /** The bytes to store, until they are stored. */
  sealed: Sealed | undefined;
  /** The stored bytes of its data, salt first; undefined when it was made here or erased. */
  bytes: Uint8Array | undefined;
  blobs: ReadonlyMap<string, Uint8Array> | undefined;
  /** What the folds know at this place: see fold.ts. */
  state: unknown;
  /** The links by which it is in chains: see chain.ts. */
  links: readonly Chain[] | undefined;
  #data: unknown;
  #decoded = false;
  #hasBytes = false;

  constructor(fields: Pick<Node, "id" | "kind" | "version" | "step" | "at" | "by" | "facts">, log: Log, parents: readonly Node[]) {
    this.id = fields.id;
    this.kind = fields.kind;
    this.version = fields.version;
    this.step = fields.step;
    this.at = fields.at;
    this.by = fields.by;
    this.facts = fields.facts;
    this.log = log;
    this.parents = parents;
    this.prior = log.tip;
    this.seq = log.tip === undefined ? 0 : log.tip.seq + 1;
    const parent = parents[0];
    const far = parent === undefined ? undefined : parent.#jump;
    this.#depth = parent === undefined ? 0 : parent.#depth + 1;
    if (parent === undefined || far === undefined) this.#jump = this;
    else this.#jump = parent.#depth - far.#depth === far.#depth - far.#jump.#depth ? far.#jump : parent;
    log.link(this);
  }

  get parent(): Node | undefined {
    return this.parents[0];
  }

  /** The value the program gave, already decoded and frozen. */
  hold(data: unknown): void {
    this.#data = data;
    this.#decoded = true;
    // Bytes are blobs: most events have none, and nothing has to be looked for.
    this.#hasBytes = this.blobs !== undefined && withOwnBytes(data) !== data;
  }

  /** What it said is gone for good; a value that was taken from it before is beyond reach. */
  erase(): void {
    this.#data = undefined;
    this.#decoded = false;
    this.bytes = undefined;
    this.sealed = undefined;
    this.blobs = undefined;
  }

  get erased(): boolean {
    return !this.#decoded && this.bytes === undefined && this.sealed === undefined;
  }

  /** Decoded, upcast and frozen, with bytes of its own each time; undefined once erased. */
  data<K extends EventKind>(platform: Platform): DataOf<K> {
    if (!this.#decoded) {
      if (this.bytes === undefined) return undefined as never;
      const value = decode(dataText(platform, this.bytes), platform, (hash) => this.blob(hash));
      this.hold(upcast(this.kind, this.version, value));
    }
    return (this.#hasBytes ? withOwnBytes(this.#data) : this.#data) as DataOf<K>;
  }

  /** Whether there are bytes in its data, once that was read. */
  get hasBytes(): boolean {
    return this.#hasBytes;
  }

  blob(hash: string): Uint8Array {
    const bytes = this.blobs?.get(hash);
    if (bytes === undefined)
      throw new RathError(
        "store.corrupt",
        `Blob ${hash} of event ${this.id} is not in the store: run verify to see what else is missing.`,
        { details: { event: this.id, hash } },
      );
    return bytes;
  }

  /** The newest place on the first-parent line that is not after `step`. */
  atStep(step: number): Node | undefined {
    let node: Node | undefined = this;
    while (node !== undefined && node.step > step) node = node.#jump !== node && node.#jump.step > step ? node.#jump : node.parent;
    return node;
  }

  event(platform: Platform): Event {
    return Object.freeze({
      id: this.id,
      session: this.log.id,
      parents: Object.freeze(this.parents.map((parent) => parent.id)),
      step: this.step,
      kind: this.kind,
      version: this.version,
      at: this.at,
      by: this.by,
      facts: Object.freeze(this.facts.usage === undefined ? this.facts : { ...this.facts, usage: Object.freeze(this.facts.usage) }),
      data: this.data(platform),
    }) as Event;
  }
}

/** A list of events that shares what it has in common with others, newest first: see chain.ts. */
export interface Chain {
  readonly node: Node;
  readonly before: Chain | undefined;
  readonly length: number;
}

/** Where a log takes in other logs: at its first event and at merges and returns of nested work. */
interface Join {
  readonly seq: number;
  readonly others: readonly Node[];
  vector: Vector<Log> | undefined;
  /** The logs behind it that no other one is behind; known when the vector is. */
  roots: Vector<Log>;
}

/** A session of the user, the own log of a run, the answer to a question or the signals of a mailbox, or what was erased. */
export type LogKind = "session" | "run" | "answer" | "erasure";

/** Whoever writes a log now: is told when it goes on elsewhere, and under which name its events lie there. */
export interface LogOwner {
  /** What was unwritten of a log goes on as a fork of it. */
  movedTo(log: Log, fork: Log): void;
  renamed(before: Node, now: Node): void;
  /** Takes an event of the log into what it writes, unless it writes nothing any more. */
  record(node: Node): void;
}

/** The line of events of one session (or of a run, an answer, an erasure log). */
export class Log {
  /** Of this process; what vectors are ordered by. */
  readonly number = logs++;
  readonly id: SessionId;
  readonly kind: LogKind;
  tip: Node | undefined;
  /** Calls without a result at its tip. */
  open = 0;
  first: Node | undefined;
  /** The execution that writes it now; anybody else who continues it forks. */
  owner: LogOwner | undefined;
  /** The newest event known to be on disk. */
  storedHead: Node | undefined;
  /** Its scope and label, when it is a fork. */
  fork:
    | { readonly scope: Scope; readonly label: string; readonly ordinal: number; readonly implicit: boolean; readonly nested: boolean }
    | undefined;
  /** Where the content of a detached session comes from, and its scope, when it was made inside an effect. */
  origin: Node | undefined;
  within: Scope | undefined;
  /** What its id was made of, when it was detached here. */
  detached: { readonly scope: Scope; readonly ordinal: number } | undefined;
  about: { readonly title?: string | undefined; readonly tags?: readonly string[] | undefined; readonly principal?: string | undefined } =
    {};
  /** Where its events lay before it was made for them, because somebody else had continued that log. */
  movedFrom: Log | undefined;
  readonly #joins: Join[] = [];
  /** Logs that stand on what was not on disk of this one. */
  #followers: Set<WeakRef<Log>> | undefined;

  constructor(id: SessionId, kind: LogKind = "session") {
    this.id = id;
    this.kind = kind;
  }

  link(node: Node): void {
    this.tip = node;
    this.first ??= node;
    if (isCalled(node.kind)) this.open++;
    else if (isReturned(node.kind)) this.open--;
    if (node.parents.length === 1 && node.parents[0]?.log === this) return;
    const others = node.parents.filter((parent) => parent.log !== this);
    if (others.length > 0) this.#joins.push({ seq: node.seq, others, vector: undefined, roots: nothing });
    for (const { stored, log } of placesBefore(node)) if (!stored && log !== this) log.followedBy(this);
  }

  /** A log stands on what is not on disk of this one. */
  followedBy(log: Log): void {
    this.#followers ??= new Set();
    this.#followers.add(new WeakRef(log));
  }

  /** The logs that stand on what is not on disk of this one, as far as anybody uses them. */
  get followers(): readonly Log[] {
    const followers = this.#followers ?? new Set();
    for (const follower of followers) if (follower.deref() === undefined) followers.delete(follower);
    return [...followers].flatMap((follower) => follower.deref() ?? []);
  }

  /** An event of it is on disk now. */
  keep(node: Node): void {
    this.storedHead = node;
    this.catchUp();
    if (this.tip === node) this.#followers = undefined;
  }

  /** What is not on disk of it, oldest first. */
  unwritten(): Node[] {
    const nodes: Node[] = [];
    for (let node = this.tip; node !== undefined && !node.stored; node = node.prior) nodes.push(node);
    return nodes.reverse();
  }

  /** Ends with this place, or with what is on disk: takes back what comes after it, or lies beside it. */
  rewind(to: Node | undefined = this.storedHead): void {
    let common = to;
    for (let node = this.tip; node !== common; ) {
      if (node === undefined || (common !== undefined && common.seq >= node.seq)) common = common?.prior;
      else {
        if (isCalled(node.kind)) this.open--;
        else if (isReturned(node.kind)) this.open++;
        node = node.prior;
      }
    }
    this.tip = common;
    if (common === undefined) this.first = undefined;
    while ((this.#joins.at(-1)?.seq ?? -1) > (common?.seq ?? -1)) this.#joins.pop();
    this.#goOnTo(to);
  }

  /** Ends with what is on disk of it, where it had been rewound to something before that. */
  catchUp(): void {
    this.#goOnTo(this.storedHead);
  }

  #goOnTo(place: Node | undefined): void {
    const missing: Node[] = [];
    let node = place;
    for (; node !== undefined && node.seq > (this.tip?.seq ?? -1); node = node.prior) missing.push(node);
    if (node === this.tip) for (const next of missing.reverse()) this.link(next);
  }

  /** What its ancestors in other logs are, up to its event at `seq`. */
  othersAt(seq: number): Vector<Log> {
    const index = this.#joinBefore(seq);
    if (index < 0) return nothing;
    this.#fill(index);
    return (this.#joins[index] as Join).vector ?? nothing;
  }

  /** The logs behind its event at `seq`, itself too, that no other one is behind. */
  rootsAt(seq: number): Vector<Log> {
    const index = this.#joinBefore(seq);
    if (index < 0) return nothing.with(this, 0);
    this.#fill(index);
    return (this.#joins[index] as Join).roots;
  }

  /** The last join at or before a position. */
  #joinBefore(seq: number): number {
    let [low, high] = [0, this.#joins.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#joins[middle] as Join).seq <= seq) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /** Without recursion: chains of forks and merges may be long. */
  #fill(index: number): void {
    const waiting: { readonly log: Log; readonly index: number }[] = [{ log: this, index }];
    for (let next = waiting.at(-1); next !== undefined; next = waiting.at(-1)) {
      const join = next.log.#joins[next.index] as Join;
      const needed = [
        { log: next.log, index: next.index - 1 },
        ...join.others.map((other) => ({ log: other.log, index: other.log.#joinBefore(other.seq) })),
      ];
      const missing =
        join.vector !== undefined ? [] : needed.filter((at) => at.index >= 0 && at.log.#joins[at.index]?.vector === undefined);
      if (missing.length > 0) {
        waiting.push(...missing);
        continue;
      }
      waiting.pop();
      if (join.vector !== undefined) continue;
      let [vector, roots]: [Vector<Log>, Vector<Log>] = [nothing, nothing];
      for (const at of needed) {
        const before = at.log.#joins[at.index];
        vector = vector.join(before?.vector ?? nothing);
        // A log that begins with a join has others behind it from the start.
        if (before !== undefined) roots = roots.join(before.roots);
        else if (at.log !== next.log || join.seq > 0) roots = roots.with(at.log, 0);
      }
      for (const other of join.others) vector = vector.with(other.log, other.seq);
      join.vector = vector;
      join.roots = roots;
    }
  }
}

let logs = 0;
const nothing = Vector.empty<Log>();

/** What an event stands on: its parents, and for a detached session where its content comes from. */
export function placesBefore(node: Node): readonly Node[] {
  const { origin } = node.log;
  return origin === undefined || node.prior !== undefined ? node.parents : [...node.parents, origin];
}

/** Where a place is now: its log may have been continued elsewhere before it was written. */
export function current(node: Node): Node {
  let at = node;
  while (at.moved !== undefined) at = at.moved;
  return at;
}

/** Every log that has an ancestor of this place, with the position of the newest one. The place itself counts. */
export function ancestorsOf(node: Node): Vector<Log> {
  return node.log.othersAt(node.seq).with(node.log, node.seq);
}

/** The logs that the history of a place begins in. */
export function rootsOf(node: Node): Iterable<Log> {
  return Array.from(node.log.rootsAt(node.seq), ({ key }) => key);
}

/** True if `a` is `b` or an ancestor of it. */
export function isAncestor(a: Node, b: Node): boolean {
  return a.log === b.log ? a.seq <= b.seq : b.log.othersAt(b.seq).get(a.log) >= a.seq;
}

/** All ancestors of a place, itself included, parents before children; at one step by run, order and id. */
export function history(node: Node): Node[] {
  const seen = new Set<Node>([node]);
  const waiting = [node];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for (const parent of next.parents) {
      if (seen.has(parent)) continue;
      seen.add(parent);
      waiting.push(parent);
    }
  }
  return [...seen].sort(byStep);
}

/** The same order in every process: by step; at one step by run, order and id. */
export function byStep(a: Node, b: Node): number {
  return a.step - b.step || compare(a.run ?? "", b.run ?? "") || a.order - b.order || compare(a.id, b.id);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Whose session it is: a fork belongs to whom the session it was forked from belongs. */
export function principalOf(node: Node): string | undefined {
  let at: Node | undefined = node;
  while (at !== undefined && at.log.about.principal === undefined) at = at.log.first?.parent ?? at.log.origin;
  return at?.log.about.principal;
}
