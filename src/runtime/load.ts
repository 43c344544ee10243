/**
 * From stored bytes to linked places. Loading a session loads every log its ancestors lie in, envelopes at once and contents
 * when somebody looks; only blobs are fetched ahead, because views are synchronous.
 */
import { dataText, type Envelope, parseEnvelope } from "../session/codec.ts";
import { RathError } from "../session/errors.ts";
import { blobsIn } from "../session/json.ts";
import { Log, Node } from "../session/log.ts";
import type { Platform } from "../session/platform.ts";
import type { LogRow, Store, StoredEvent } from "../store/store.ts";

interface Raw {
  readonly event: StoredEvent;
  readonly envelope: Envelope;
}

/** Logs that are in memory already, by id. */
export type Known = (id: string) => Log | undefined;

export function fromStored(
  platform: Platform,
  event: StoredEvent,
  log: Log,
  parents: readonly Node[],
  envelope: Envelope = parseEnvelope(platform.text(event.envelope)),
): Node {
  const { kind, version, step, at, by, facts, data } = envelope;
  const node = new Node({ id: event.id, kind, version, step, at, by, facts, digest: data }, log, parents);
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

/** Loads logs and everything behind them. Logs known already get what was appended since. */
export async function loadLogs(platform: Platform, store: Store, ids: readonly string[], known: Known): Promise<ReadonlyMap<string, Log>> {
  const loading = new Loading(platform, store, known);
  for (const id of ids) await loading.need(id);
  return loading.finish();
}

class Loading {
  readonly #platform: Platform;
  readonly #store: Store;
  readonly #known: Known;
  readonly #logs = new Map<string, Log>();
  readonly #raw: Raw[] = [];
  /** Parents that are not simply the event before: few, so only these are looked up by id. */
  readonly #wanted = new Map<string, Node | undefined>();

  constructor(platform: Platform, store: Store, known: Known) {
    this.#platform = platform;
    this.#store = store;
    this.#known = known;
  }

  async need(id: string): Promise<void> {
    if (this.#logs.has(id)) return;
    const row = await rowOf(this.#store, id);
    if (row === undefined)
      throw new RathError("session.not-found", `There is no session ${id} in this store.`, { details: { session: id } });
    const known = this.#known(id);
    const log = known ?? new Log(id, row.log);
    log.about = { title: row.title, tags: row.tags, principal: row.principal };
    this.#logs.set(id, log);
    // A log whose unwritten end lies in memory is linked again by whoever writes it; here it stays as it is.
    if (known !== undefined && (known.tip !== known.storedHead || known.storedHead?.id === row.head)) return;
    await this.#read(id, known?.storedHead);
    if (row.parent !== undefined) await this.need(row.parent);
  }

  async #read(id: string, after: Node | undefined): Promise<void> {
    const origins: string[] = [];
    let previous = after?.id;
    for await (const event of this.#store.events({ session: id, from: after === undefined ? 0 : after.step + 1 })) {
      const envelope = parseEnvelope(this.#platform.text(event.envelope));
      this.#raw.push({ event, envelope });
      for (const parent of envelope.parents) if (parent !== previous) this.#wanted.set(parent, undefined);
      previous = event.id;
      if (envelope.kind !== "session.detached" || event.data === undefined) continue;
      const { from } = JSON.parse(dataText(this.#platform, event.data)) as {
        readonly from: { readonly session: string; readonly head: string };
      };
      this.#wanted.set(from.head, undefined);
      origins.push(from.session);
    }
    for (const origin of origins) await this.need(origin);
  }

  async finish(): Promise<ReadonlyMap<string, Log>> {
    await this.#readMissing();
    // Parents have smaller steps than their children.
    if (this.#logs.size > 1) this.#raw.sort((a, b) => a.envelope.step - b.envelope.step);
    const fresh: Node[] = [];
    for (const { event, envelope } of this.#raw) {
      const log = this.#logs.get(event.session) as Log;
      const node = fromStored(this.#platform, event, log, this.#parents(log, envelope), envelope);
      if (this.#wanted.has(event.id)) this.#wanted.set(event.id, node);
      fresh.push(node);
    }
    // Steps start again at a detached session, so its origin may be linked after it.
    for (const node of fresh) {
      if (node.kind === "session.detached" && !node.erased)
        node.log.origin = this.#find(node.data<"session.detached">(this.#platform).from.head);
    }
    await fetchBlobs(this.#platform, this.#store, fresh);
    return this.#logs;
  }

  #parents(log: Log, envelope: Envelope): Node[] {
    return envelope.parents.map((id) => {
      const parent = log.tip?.id === id ? log.tip : this.#find(id);
      if (parent === undefined)
        throw new RathError("store.corrupt", `Event ${id} is named as a parent by an event of ${log.id} and is not in the store.`);
      return parent;
    });
  }

  /** A wanted event: linked already, or in a log that was in memory before. */
  #find(id: string): Node | undefined {
    const linked = this.#wanted.get(id);
    if (linked !== undefined) return linked;
    for (const log of this.#logs.values()) {
      for (let node = log.tip; node !== undefined; node = node.prior) if (node.id === id) return node;
    }
    return undefined;
  }

  /** Reads the logs of wanted events until there is none left that lies in a log not read. */
  async #readMissing(): Promise<void> {
    const read = new Set<string>();
    for (let from = 0; this.#wanted.size > 0; ) {
      for (; from < this.#raw.length; from++) read.add((this.#raw[from] as Raw).event.id);
      const missing = [...this.#wanted.keys()].filter((id) => !read.has(id) && this.#find(id) === undefined);
      if (missing.length === 0) return;
      const sessions: string[] = [];
      for await (const event of this.#store.events({ ids: missing })) sessions.push(event.session);
      const unread = sessions.filter((session) => !this.#logs.has(session));
      if (unread.length === 0) throw new RathError("store.corrupt", `Event ${missing[0]} is named as a parent and is not in the store.`);
      for (const session of unread) await this.need(session);
    }
  }
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
  for (const node of nodes) {
    if (node.bytes === undefined || node.bytes.length < shortestReference || asBuffer(node.bytes).indexOf(blobMark) < 0) continue;
    const blobs = new Map<string, Uint8Array>();
    for (const hash of blobsIn(dataText(platform, node.bytes))) {
      const bytes = loaded.get(hash) ?? (await store.blob(hash));
      if (bytes === undefined) continue; // reading it fails by name, verify lists it
      loaded.set(hash, bytes);
      blobs.set(hash, bytes);
    }
    node.blobs = blobs;
  }
}

/** The row of exactly this log. */
export async function rowOf(store: Store, id: string): Promise<LogRow | undefined> {
  for await (const row of store.sessions({ id })) if (row.id === id) return row;
  return undefined;
}
