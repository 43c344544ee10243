/**
 * The memory of a runtime. What sessions recall, remember and forget are effects; what they write is staged on their branch, and
 * goes to the memory store when the run returns. A run reads the store as it was when it first looked.
 */
import type { MemoryItem, MemoryStore } from "../memory/memory.ts";
import { type Embedder, type EmbedderLike, isEmbedder } from "../session/embedding.ts";
import { callOf, type State, stateOf } from "../session/fold.ts";
import type { Host, Place, Price } from "../session/host.ts";
import { current, type Node, principalOf } from "../session/log.ts";
import type { Platform } from "../session/platform.ts";
import { type Staged, stagedAt } from "../session/remembered.ts";
import { textOfThrown } from "../session/thrown.ts";
import type { MemoryRule } from "../tool/memory-policy.ts";
import type { Rules } from "../tool/policy.ts";
import type { Execution } from "./execution.ts";
import type { Services } from "./services.ts";

export interface MemoryOptions {
  readonly openMemory: () => Promise<MemoryStore>;
  readonly embedder: (like: EmbedderLike) => Promise<Embedder>;
  readonly rules: Rules;
}

/** What memory needs of the runtime. */
type MemoryServices = Pick<Services & Host, "platform" | "clean" | "price" | "warn">;

export class Memories {
  readonly #runtime: MemoryServices;
  readonly #options: MemoryOptions;
  #store: Promise<MemoryStore> | undefined;
  /** The revision that a run reads; pinned when it first looks. */
  readonly #pinned = new WeakMap<object, Promise<number>>();
  /** At which revision a staged write was published, and up to which it was looked for in vain. */
  readonly #published = new WeakMap<Node, number>();
  readonly #looked = new WeakMap<Node, number>();

  constructor(runtime: MemoryServices, options: MemoryOptions) {
    this.#runtime = runtime;
    this.#options = options;
  }

  get platform(): Platform {
    return this.#runtime.platform;
  }

  clean(text: string): string {
    return this.#runtime.clean(text);
  }
  price(model: string, input?: number): Price | undefined {
    return this.#runtime.price(model, input);
  }
  embedder(like: EmbedderLike): Promise<Embedder> {
    return this.#options.embedder(like);
  }
  /** What the rules say of memory to whoever acts at a place. */
  ruleAt({ node, context }: Place): MemoryRule | undefined {
    return this.#options.rules.memory({ by: context.by, principal: principalOf(node) });
  }

  store(): Promise<MemoryStore> {
    this.#store ??= this.#options.openMemory().catch((error: unknown) => {
      this.#store = undefined; // whoever asks next tries again
      throw error;
    });
    return this.#store;
  }

  /** Opens the store and finds its embedding model; throws what is missing. */
  async ready(): Promise<void> {
    const store = await this.store();
    await store.revision();
    if (store.embedder !== undefined && !isEmbedder(store.embedder)) await this.embedder(store.embedder);
  }

  /**
   * The revision that is read at a place: of a fork from the past what was read before it, in a run what it read first, else the
   * newest. The newest is read again when somebody says so.
   */
  async revisionAt({ node, context }: Place, latest = false): Promise<number> {
    const execution = context.execution as Execution;
    const { asOf } = stateOf(node);
    const follows = !latest && execution.memory !== "latest";
    if (follows && typeof execution.memory === "number") return execution.memory;
    if (follows && asOf !== undefined) return revisionOf(asOf, this.platform) ?? this.#newest();
    if (latest || execution.mode === "effects") return this.#newest();
    let pinned = this.#pinned.get(execution);
    if (pinned === undefined) {
      pinned = this.#firstRead(execution);
      this.#pinned.set(execution, pinned);
      // A store that fails now may not fail later.
      pinned.catch(() => this.#pinned.delete(execution));
    }
    return pinned;
  }

  /** What a write is based on: what is read at its place, or what the branch has read since because it asked for the latest. */
  async revisionForWriting(place: Place): Promise<number> {
    const revision = await this.revisionAt(place);
    const read = stateOf(place.node).reads?.node;
    const isNewer = read !== undefined && read.run === (place.context.execution as Execution).id && asksLatest(read, this.platform);
    return isNewer ? Math.max(revision, revisionOf(read, this.platform) ?? 0) : revision;
  }

  async #newest(): Promise<number> {
    return (await this.store()).revision();
  }

  /** What the run read before it was interrupted, or the newest. */
  async #firstRead({ recorded }: Execution): Promise<number> {
    return firstRevision(recorded?.events ?? [], this.platform) ?? this.#newest();
  }

  /** Writes of a branch that are not in the store at a revision. */
  stagedFor(state: State, revision: number): Promise<readonly Staged[]> {
    return this.notIn([...stagedAt(state, this.platform).values()], revision);
  }

  /** Those of some writes that are not. */
  async notIn(staged: readonly Staged[], revision: number): Promise<readonly Staged[]> {
    const unsure = staged.filter(({ node }) => !this.#published.has(node) && (this.#looked.get(node) ?? -1) < revision);
    if (unsure.length > 0) await this.#look(unsure);
    return staged.filter(({ node }) => (this.#published.get(node) ?? Number.POSITIVE_INFINITY) > revision);
  }

  async #look(unsure: readonly Staged[]): Promise<void> {
    const store = await this.store();
    const revision = await store.revision();
    const byEvent = new Map(unsure.map((staged) => [staged.item.event, staged.node]));
    for await (const { event, revision: written } of store.list({ events: [...byEvent.keys()], asOf: "all" })) {
      const node = byEvent.get(event);
      if (node !== undefined) this.#published.set(node, written);
    }
    for (const { node } of unsure) this.#looked.set(node, revision);
  }

  /** That a call found items: under the name that the call has at last. */
  async noteUses(
    items: readonly Pick<MemoryItem, "uri" | "version">[],
    call: { readonly key: string; readonly branch: string },
  ): Promise<void> {
    const store = await this.store();
    for (let event = ""; event !== call.key; ) {
      event = call.key;
      const at = this.platform.time();
      await store.used(items.map(({ uri, version }) => ({ uri, version, session: call.branch, event, at })));
    }
  }

  /** Recalls that were linked again have other names: what they found is found under these too. */
  async noteMoved(nodes: readonly Node[]): Promise<void> {
    for (const node of nodes) {
      if (node.kind !== "recall.returned") continue;
      const { id: key, log } = callOf(node);
      const hits = node.data<"recall.returned">(this.platform)?.value ?? [];
      if (hits.length === 0) continue;
      await this.noteUses(hits, { key, branch: log.id }).catch((error: unknown) => {
        this.#runtime.warn(`That ${key} recalled something could not be noted: ${textOfThrown(error)}`);
      });
    }
  }

  /** A staged write is in the store now. */
  knowPublished(node: Node, revision: number): void {
    this.#published.set(current(node), revision);
  }

  async close(): Promise<void> {
    const store = this.#store;
    this.#store = undefined;
    await (await store?.catch(() => undefined))?.[Symbol.asyncDispose]();
  }
}

/** The revision that a run read: what was asked for as the latest, or in the past, was read beside it. */
export function firstRevision(events: readonly Node[], platform: Platform): number | undefined {
  for (const node of events) {
    const revision = revisionOf(node, platform);
    if (revision === undefined || asksLatest(node, platform) || stateOf(callOf(node)).asOf !== undefined) continue;
    return revision;
  }
  return undefined;
}

function asksLatest(node: Node, platform: Platform): boolean {
  return node.kind === "recall.returned" && callOf(node).data<"recall.called">(platform)?.memory === "latest";
}

/** The revision of the store that an event read. */
function revisionOf(node: Node, platform: Platform): number | undefined {
  switch (node.kind) {
    case "recall.returned":
    case "remember.returned":
    case "forget.returned":
      return node.data<"recall.returned">(platform)?.revision;
    default:
      return undefined;
  }
}
