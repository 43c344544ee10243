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
  const node = new Node({ ...envelope, id: event.id, digest: envelope.data }, log, parents);
  node.run = event.run;
  node.order = event.order;
  node.stored = true;
  node.bytes = event.data;
  log.storedHead = node;
  if (node.kind === "session.forked" && event.data !== undefined) {
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
  readonly #ids = new Set<string>();
  readonly #nodes = new Map<string, Node>();
  /** Parents in logs not loaded yet. */
  #missing: string[] = [];

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
    if (known?.tip !== undefined) this.#keep(known.tip);
    const from = known?.storedHead === undefined ? 0 : known.storedHead.step + 1;
    // A log whose unwritten end lies in memory is linked again by whoever writes it; here it stays as it is.
    if (known !== undefined && known.tip !== known.storedHead) return;
    for await (const event of this.#store.events({ session: id, from })) await this.#take(event);
    if (row.parent !== undefined) await this.need(row.parent);
  }

  /** All that is in memory behind a place. */
  #keep(tip: Node): void {
    const waiting = [tip];
    for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
      if (this.#nodes.has(node.id)) continue;
      this.#ids.add(node.id);
      this.#nodes.set(node.id, node);
      waiting.push(...node.parents);
    }
  }

  async #take(event: StoredEvent): Promise<void> {
    const envelope = parseEnvelope(this.#platform.text(event.envelope));
    this.#raw.push({ event, envelope });
    this.#ids.add(event.id);
    for (const parent of envelope.parents) if (!this.#ids.has(parent)) this.#missing.push(parent);
    if (envelope.kind === "session.detached" && event.data !== undefined) {
      const { from } = JSON.parse(dataText(this.#platform, event.data)) as { readonly from: { readonly session: string } };
      await this.need(from.session);
    }
  }

  async finish(): Promise<ReadonlyMap<string, Log>> {
    for (;;) {
      const missing = this.#missing.filter((id) => !this.#ids.has(id));
      this.#missing = [];
      if (missing.length === 0) break;
      const found: StoredEvent[] = [];
      for await (const event of this.#store.events({ ids: missing })) found.push(event);
      if (found.length < new Set(missing).size)
        throw new RathError(
          "store.corrupt",
          `Event ${missing.find((id) => !found.some((event) => event.id === id))} is named as a parent and is not in the store.`,
        );
      for (const event of found) await this.need(event.session);
    }
    // Parents have smaller steps than their children.
    this.#raw.sort((a, b) => a.envelope.step - b.envelope.step);
    const fresh: Node[] = [];
    for (const { event, envelope } of this.#raw) {
      const parents = envelope.parents.map((id) => this.#nodes.get(id) as Node);
      const log = this.#logs.get(event.session) as Log;
      const node = fromStored(this.#platform, event, log, parents, envelope);
      this.#nodes.set(event.id, node);
      fresh.push(node);
    }
    // Steps start again at a detached session, so its origin may be linked after it.
    for (const node of fresh) {
      if (node.kind === "session.detached" && !node.erased)
        node.log.origin = this.#nodes.get(node.data<"session.detached">(this.#platform).from.head);
    }
    await fetchBlobs(this.#platform, this.#store, fresh);
    return this.#logs;
  }
}

const blobMark = Buffer.from('"$":"blob"');

/** Brings the blobs that events name into memory. */
export async function fetchBlobs(platform: Platform, store: Store, nodes: readonly Node[]): Promise<void> {
  const loaded = new Map<string, Uint8Array>();
  for (const node of nodes) {
    if (node.bytes === undefined || Buffer.from(node.bytes.buffer, node.bytes.byteOffset, node.bytes.byteLength).indexOf(blobMark) < 0)
      continue;
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
