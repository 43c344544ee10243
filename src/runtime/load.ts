/**
 * From stored bytes to linked places. Loading a session loads every log its ancestors lie in, envelopes at once and contents
 * when somebody looks; only blobs are fetched ahead, because views are synchronous.
 */
import { dataText, type Envelope, envelopeOf } from "../session/codec.ts";
import { RathError } from "../session/errors.ts";
import { type DataOf, type Event, type EventKind, versions } from "../session/event.ts";
import { blobsIn } from "../session/json.ts";
import { Log, Node } from "../session/log.ts";
import type { Platform } from "../session/platform.ts";
import type { LogRow, Store, StoredEvent } from "../store/store.ts";

interface Raw {
  readonly event: StoredEvent;
  readonly envelope: Envelope;
}

const kinds: ReadonlyMap<string, EventKind> = new Map((Object.keys(versions) as EventKind[]).map((kind) => [kind, kind]));
const justStarted = Object.freeze({ started: true } as const);

export function fromStored(
  platform: Platform,
  event: StoredEvent,
  log: Log,
  parents: readonly Node[],
  envelope: Envelope = envelopeOf(platform, event),
): Node {
  const { version, step } = envelope;
  // Neighbours mostly agree: of two equal strings one is kept, since a long log is mostly these.
  const before = log.tip;
  const kind = kinds.get(envelope.kind) ?? envelope.kind;
  const at = before?.at === envelope.at ? before.at : envelope.at;
  const by = before?.by === envelope.by ? before.by : envelope.by;
  const facts = envelope.facts.started === true && Object.keys(envelope.facts).length === 1 ? justStarted : envelope.facts;
  const node = new Node({ id: event.id, kind, version, step, at, by, facts }, log, parents);
  node.run = event.run;
  node.order = event.order;
  node.stored = true;
  node.bytes = event.data;
  log.storedHead = node;
  if (kind === "session.forked" && event.data !== undefined) {
    const { scope, label, ordinal, implicit, nested } = node.data<"session.forked">(platform);
    log.fork = { scope, label: label ?? "", ordinal, implicit: implicit ?? false, nested: nested ?? false };
  }
  return node;
}

/** Logs that are in memory, and how what is not written of one is brought out of the way, where that can be done. */
export interface InMemory {
  get(id: string): Log | undefined;
  moveAside(log: Log): Promise<void>;
}

/** Loads logs and everything behind them. Logs known already get what was appended since. */
export async function loadLogs(
  platform: Platform,
  store: Store,
  ids: readonly string[],
  known: InMemory,
): Promise<ReadonlyMap<string, Log>> {
  const loading = new Loading(platform, store, known);
  for (const id of ids) await loading.need(id);
  return loading.finish();
}

class Loading {
  readonly #platform: Platform;
  readonly #store: Store;
  readonly #known: InMemory;
  readonly #logs = new Map<string, Log>();
  readonly #fresh: Node[] = [];
  /** What is linked, by id, as far as it was ever asked for: most logs are one line, whose events follow the one before. */
  readonly #linked = new Map<string, Node>();
  #listed = 0;
  /** Logs that were in memory before: what they had then is not among what was linked. */
  readonly #before: Log[] = [];
  /** Events that stand on logs not read yet, and those behind them in their own log. */
  readonly #waiting: Raw[] = [];
  readonly #origins: string[] = [];
  /** The newest step that was read of each log. */
  readonly #readTo = new Map<Log, number>();

  constructor(platform: Platform, store: Store, known: InMemory) {
    this.#platform = platform;
    this.#store = store;
    this.#known = known;
  }

  async need(id: string): Promise<void> {
    if (!(await this.#needIfThere(id)))
      throw new RathError("session.not-found", `There is no session ${id} in this store.`, { details: { session: id } });
  }

  async #needIfThere(id: string): Promise<boolean> {
    if (this.#logs.has(id)) return true;
    const row = await rowOf(this.#store, id);
    if (row === undefined) return false;
    const known = this.#known.get(id);
    const log = known ?? new Log(id, row.log);
    if (known !== undefined) this.#before.push(known);
    log.about = { title: row.title, tags: row.tags, principal: row.principal };
    this.#logs.set(id, log);
    if (known !== undefined && known.storedHead?.id === row.head) return true;
    if (known !== undefined && known.tip !== known.storedHead) await this.#known.moveAside(known);
    // Whoever works on it here links it again at the next write.
    if (known !== undefined && known.tip !== known.storedHead) return true;
    if (row.parent !== undefined) await this.need(row.parent);
    await this.#read(log);
    return true;
  }

  /** Links the events of a log as they come, as far as their parents are there. */
  async #read(log: Log): Promise<void> {
    let linking = true;
    for await (const event of this.#store.events({ session: log.id, from: (this.#readTo.get(log) ?? log.storedHead?.step ?? -1) + 1 })) {
      this.#readTo.set(log, event.step);
      const envelope = envelopeOf(this.#platform, event);
      let parents = linking ? this.#parents(log, envelope, false) : undefined;
      if (parents === undefined && linking) {
        await this.#readParents(event, envelope);
        parents = this.#parents(log, envelope, false);
      }
      // Somebody went on with it here while it is read.
      if (parents !== undefined && log.tip !== log.storedHead) {
        await this.#known.moveAside(log);
        if (log.tip !== log.storedHead) return;
        parents = this.#parents(log, envelope, false);
      }
      if (parents === undefined) {
        linking = false;
        this.#waiting.push({ event, envelope });
      } else this.#link(log, event, parents, envelope);
      if (envelope.kind !== "session.detached" || event.data === undefined) continue;
      const { from } = JSON.parse(dataText(this.#platform, event.data)) as { readonly from: { readonly session: string } };
      this.#origins.push(from.session);
    }
  }

  /** Mostly a merge, which says where its parents lie: what was forked from this log before can be linked now, and need not wait for the rest of it. */
  async #readParents({ data }: StoredEvent, { kind, parents }: Envelope): Promise<void> {
    for (const session of kind === "session.merged" && data !== undefined ? mergedIn(dataText(this.#platform, data)) : [])
      await this.#needIfThere(session);
    const unread = parents.filter((id) => this.#find(id, Number.POSITIVE_INFINITY, false) === undefined);
    if (unread.length === 0) return;
    const sessions = new Set<string>();
    for await (const event of this.#store.events({ ids: unread })) if (!this.#logs.has(event.session)) sessions.add(event.session);
    for (const session of sessions) await this.need(session);
  }

  async finish(): Promise<ReadonlyMap<string, Log>> {
    // What is read may name further logs: as parents, and as where a detached session comes from.
    do {
      for (let origin = this.#origins.pop(); origin !== undefined; origin = this.#origins.pop()) await this.need(origin);
      await this.#readMissing();
    } while (this.#origins.length > 0);
    // Parents have smaller steps than their children.
    this.#waiting.sort((a, b) => a.envelope.step - b.envelope.step);
    for (const { event, envelope } of this.#waiting) {
      const log = this.#logs.get(event.session) as Log;
      if (log.tip !== log.storedHead) await this.#known.moveAside(log);
      const parents = this.#parents(log, envelope);
      if (parents === undefined) throw missing(envelope.parents);
      this.#link(log, event, parents, envelope);
    }
    for (const node of this.#fresh) {
      if (node.kind !== "session.detached" || node.erased) continue;
      const { from, scope } = node.data<"session.detached">(this.#platform);
      node.log.origin = this.#find(from.head, Number.POSITIVE_INFINITY);
      node.log.within = scope;
    }
    await fetchBlobs(this.#platform, this.#store, this.#fresh);
    return this.#logs;
  }

  #link(log: Log, event: StoredEvent, parents: readonly Node[], envelope: Envelope): void {
    const node = fromStored(this.#platform, event, log, parents, envelope);
    this.#fresh.push(node);
  }

  /** Undefined when one of them is not linked yet. */
  #parents(log: Log, envelope: Envelope, everywhere = true): readonly Node[] | undefined {
    const parents: Node[] = [];
    for (const id of envelope.parents) {
      const parent = log.tip?.id === id ? log.tip : this.#find(id, envelope.step - 1, everywhere);
      if (parent === undefined) return undefined;
      parents.push(parent);
    }
    return parents;
  }

  /** A linked event; in logs that were there before, mostly the one at this step. */
  #find(id: string, step: number, everywhere = true): Node | undefined {
    for (; this.#listed < this.#fresh.length; this.#listed++) {
      const node = this.#fresh[this.#listed] as Node;
      this.#linked.set(node.id, node);
    }
    const linked = this.#linked.get(id);
    if (linked !== undefined) return linked;
    for (const { tip } of this.#before) {
      const node = tip?.atStep(step);
      if (node?.id === id) return node;
    }
    for (const { tip } of everywhere ? this.#before : []) {
      for (let node = tip; node !== undefined; node = node.prior) if (node.id === id) return node;
    }
    return undefined;
  }

  /** Reads the logs of parents until there is none left that lies in a log not read. */
  async #readMissing(): Promise<void> {
    const read = new Set<string>();
    for (let from = 0; from < this.#waiting.length; ) {
      const wanted = new Set<string>();
      const last = this.#waiting.length;
      for (; from < last; from++) {
        const { event, envelope } = this.#waiting[from] as Raw;
        read.add(event.id);
        for (const parent of envelope.parents) wanted.add(parent);
      }
      const unread = [...wanted].filter((id) => !read.has(id) && this.#find(id, Number.POSITIVE_INFINITY) === undefined);
      const sessions = new Set<string>();
      for await (const event of this.#store.events({ ids: unread })) sessions.add(event.session);
      if (unread.length > 0 && sessions.size === 0) throw missing(unread);
      for (const session of sessions) {
        const grown = this.#logs.get(session);
        // Somebody writes meanwhile: what was read later may stand on what came to a log after it was read.
        if (grown === undefined) await this.need(session);
        else await this.#read(grown);
      }
    }
  }
}

/** Where a merge says that its branches lie; where it says nothing readable, they are found by their ids. */
function mergedIn(text: string): readonly string[] {
  try {
    return (JSON.parse(text) as DataOf<"session.merged">).branches.map(({ session }) => session);
  } catch {
    return [];
  }
}

function missing(ids: readonly string[]): RathError {
  return new RathError(
    "store.corrupt",
    `Event ${ids[0]} is named as a parent and is not in the store: run verify to see what else is missing.`,
    { details: { events: ids } },
  );
}

const blobMark = Buffer.from('"$":"blob"');
/** No data that names a blob is shorter than its hash. */
const shortestReference = 64;

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Brings the blobs that events name into memory. */
export async function fetchBlobs(platform: Platform, store: Store, nodes: readonly Node[]): Promise<void> {
  const loaded = new Map<string, Uint8Array>();
  // Most model calls name one and the same configuration: what names the same blobs shares them.
  const shared = new Map<string, ReadonlyMap<string, Uint8Array>>();
  for (const node of nodes) {
    if (node.bytes === undefined || node.bytes.length < shortestReference || asBuffer(node.bytes).indexOf(blobMark) < 0) continue;
    const hashes = blobsIn(dataText(platform, node.bytes));
    const names = hashes.join();
    const blobs = shared.get(names) ?? (await readBlobs(store, hashes, loaded));
    shared.set(names, blobs);
    node.blobs = blobs;
  }
}

async function readBlobs(
  store: Store,
  hashes: readonly string[],
  loaded: Map<string, Uint8Array>,
): Promise<ReadonlyMap<string, Uint8Array>> {
  const blobs = new Map<string, Uint8Array>();
  for (const hash of hashes) {
    const bytes = loaded.get(hash) ?? (await store.blob(hash));
    if (bytes === undefined) continue; // reading it fails by name, verify lists it
    loaded.set(hash, bytes);
    blobs.set(hash, bytes);
  }
  return blobs;
}

/** One stored event by itself, as whoever reads a stream gets it. */
export async function readEvent(platform: Platform, store: Store, stored: StoredEvent): Promise<Event> {
  const envelope = envelopeOf(platform, stored);
  const node = fromStored(platform, stored, new Log(stored.session), [], envelope);
  await fetchBlobs(platform, store, [node]);
  return Object.freeze({ ...node.event(platform), parents: envelope.parents }) as Event;
}

/** The row of exactly this log. */
export async function rowOf(store: Store, id: string): Promise<LogRow | undefined> {
  for await (const row of store.sessions({ id })) if (row.id === id) return row;
  return undefined;
}

/** One call after the other. Two loads at once would each make the logs they share, and those would have no ancestor in common. */
export function inTurn<T, R>(work: (given: T) => Promise<R>): (given: T) => Promise<R> {
  let last: Promise<unknown> = Promise.resolve();
  return (given) => {
    const done = last.then(() => work(given));
    last = done.catch(() => {}); // whoever asked is told
    return done;
  };
}
