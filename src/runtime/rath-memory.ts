/** What people ask of memory outside a session. Everything is a new version: nothing that was written goes away. */
import type {
  Memory,
  MemoryDecision,
  MemoryItem,
  MemoryListing,
  MemoryRecord,
  MemorySearch,
  MemoryUsage,
  MemoryUse,
  MemoryWrite,
} from "../memory/memory.ts";
import { RathError } from "../session/errors.ts";
import { callOf, stateOf } from "../session/fold.ts";
import { givenOneOf, givenOptions, givenText, shown, unsupported } from "../session/given.ts";
import { defaultHits, givenHits, givenOrigin, givenScopes, givenTrust, memoryScopes } from "../session/given-memory.ts";
import type { Node } from "../session/log.ts";
import { ambiguousKey, isMemoryUri, memoryPrefix, noMemory, readVersionName } from "../session/memory-uri.ts";
import { versionName } from "../session/remembered.ts";
import type { MemoryHit, MemoryScope, Session } from "../session/session.ts";
import type { Why } from "../session/why.ts";
import { Readers } from "./readers.ts";
import type { Runtime } from "./runtime.ts";

/** How often a decision is made again when others write meanwhile. */
const tries = 10;

type Explain = (runtime: Runtime, item: MemoryItem, options: { readonly signal?: AbortSignal | undefined }) => Promise<Why>;

/** A write that says again what another version of the same uri says. */
interface Again extends MemoryWrite {
  readonly of: number;
}

/** A recall of a session, and what it gave. */
interface Recalled {
  readonly call: Node;
  readonly returned: Node | undefined;
}

export class RathMemory implements Memory {
  readonly #runtime: Runtime;
  readonly #explain: Explain;

  constructor(runtime: Runtime, explain: Explain) {
    this.#runtime = runtime;
    this.#explain = explain;
  }

  async #store() {
    this.#runtime.assertOpen();
    return this.#runtime.memories.store();
  }

  async revision(): Promise<number> {
    return (await this.#store()).revision();
  }

  async search(query: string, options: MemorySearch = {}): Promise<readonly MemoryHit[]> {
    const known = ["scope", "user", "limit", "trust", "origin", "asOf"] as const;
    const { scope, user, limit = defaultHits, trust, origin, asOf } = givenOptions(options, known, "search");
    givenHits(limit, "search.limit");
    givenTrust(trust, "search.trust");
    givenOrigin(origin, "search.origin");
    const text = givenText(query, "search.query");
    const within = beginnings(scope, user, "search");
    const store = await this.#store();
    await this.#givenRevision(asOf, "search.asOf");
    const { embed } = await import("./embedding.ts");
    const embedded = await embed(this.#runtime.memories, store, text, new AbortController().signal);
    return store.search({ text, vector: embedded?.vector, within, limit, trust, origin, asOf });
  }

  async get(name: string): Promise<MemoryRecord | undefined> {
    const { uri, version } = readVersionName(givenText(name, "name"));
    if (version !== undefined && isMemoryUri(uri)) return (await this.#versions(uri)).find((record) => record.version === version);
    return this.#newest(name);
  }

  async *list(query: MemoryListing = {}): AsyncIterable<MemoryRecord> {
    const { scope, user, state, asOf } = givenOptions(query, ["scope", "user", "state", "asOf"], "list");
    givenOneOf(state, ["published", "retracted"], "list.state");
    const within = beginnings(scope, user, "list");
    await this.#givenRevision(asOf, "list.asOf");
    yield* (await this.#store()).list({ within, state, asOf });
  }

  async history(name: string): Promise<readonly MemoryRecord[]> {
    const { uri, version } = readVersionName(givenText(name, "name"));
    const newest = await this.#newest(version !== undefined && isMemoryUri(uri) ? uri : name);
    return newest === undefined ? [] : this.#versions(newest.uri);
  }

  async why(name: string, options: { readonly signal?: AbortSignal | undefined } = {}): Promise<Why> {
    const { signal } = givenOptions(options, ["signal"], "why");
    const item = await this.get(name);
    if (item === undefined) throw noMemory(name);
    return this.#explain(this.#runtime, item, { signal });
  }

  async *usedBy(name: string): AsyncIterable<MemoryUsage> {
    const { uri, version } = readVersionName(givenText(name, "name"));
    const named = isMemoryUri(uri) ? uri : (await this.#newest(name))?.uri;
    if (named === undefined) return;
    const readers = new Readers(this.#runtime);
    const sessions = new Map<string, Promise<ReadonlyMap<string, Recalled>>>();
    for await (const use of (await this.#store()).uses(named)) {
      if (version !== undefined && isMemoryUri(uri) && use.version !== version) continue;
      const recalls = sessions.get(use.session) ?? this.#recallsIn(use.session);
      sessions.set(use.session, recalls);
      const usage = await this.#usage(use, await recalls, readers);
      if (usage !== undefined) yield usage;
    }
  }

  /** The recalls of a session by their ids; none where it was never written: the process died before. */
  async #recallsIn(session: string): Promise<ReadonlyMap<string, Recalled>> {
    const log = await this.#runtime
      .load([session])
      .then((logs) => logs.get(session))
      .catch((error: unknown) => {
        if (RathError.is(error, "session.not-found")) return undefined;
        throw error;
      });
    const recalls = new Map<string, Recalled>();
    for (let at = log?.tip; at !== undefined; at = at.prior) {
      if (at.kind === "recall.returned") recalls.set(callOf(at).id, { call: callOf(at), returned: at });
      if (at.kind === "recall.called" && !recalls.has(at.id)) recalls.set(at.id, { call: at, returned: undefined });
    }
    return recalls;
  }

  /** What the session says of a use; undefined when it says nothing. */
  async #usage(use: MemoryUse, recalls: ReadonlyMap<string, Recalled>, readers: Readers): Promise<MemoryUsage | undefined> {
    const { platform } = this.#runtime;
    const { call, returned } = recalls.get(use.event) ?? {};
    if (call === undefined) return undefined;
    const injected = returned?.data<"recall.returned">(platform)?.injected?.includes(versionName(use)) ?? false;
    const readBy = injected && returned !== undefined ? await readers.of(returned) : [];
    return { ...use, by: call.by, query: call.data<"recall.called">(platform)?.query, injected, readBy };
  }

  async *derivedFrom(source: string): AsyncIterable<MemoryRecord> {
    const named = isMemoryUri(source) ? source : ((await this.#newest(source))?.uri ?? undefined);
    const seeds: string[] = named === undefined ? [] : [named];
    const store = await this.#store();
    const seen = new Set<string>();
    const waiting: MemoryRecord[] = [];
    const take = (record: MemoryRecord): void => {
      if (seen.has(versionName(record))) return;
      seen.add(versionName(record));
      waiting.push(record);
    };
    if (named === undefined) for await (const record of store.list({ because: source, asOf: "all" })) take(record);
    for (const seed of seeds) for await (const record of store.list({ from: seed, asOf: "all" })) if (record.uri !== named) take(record);
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      yield next;
      for await (const record of store.list({ from: versionName(next), asOf: "all" })) take(record);
    }
  }

  async retract(name: string, decision: MemoryDecision): Promise<readonly MemoryRecord[]> {
    const decided = this.#decided(decision, "retract");
    const { uri, version } = readVersionName(givenText(name, "name"));
    const isVersion = version !== undefined && isMemoryUri(uri);
    return this.#write(async () => {
      const item = await this.#newest(isVersion ? uri : name);
      if (item === undefined || item.state === "retracted") throw noMemory(name);
      if (isVersion && item.version !== version) throw superseded(name, item);
      const writes = [this.#again(item, item.version, { ...decided, state: "retracted" })];
      for await (const derived of this.derivedFrom(item.uri)) {
        const newest = await this.#newest(derived.uri);
        // A version that was written since without it stays.
        if (newest === undefined || newest.version !== derived.version || newest.state === "retracted") continue;
        const reason = `made of ${item.uri}, which was retracted: ${decided.reason}`;
        writes.push(this.#again(newest, newest.version, { ...decided, state: "retracted", reason }));
      }
      return writes;
    });
  }

  async rollback(to: number | string, decision: MemoryDecision): Promise<readonly MemoryRecord[]> {
    const decided = this.#decided(decision, "rollback");
    const store = await this.#store();
    const revision = await this.#revisionAt(to);
    return this.#write(async () => {
      const then = new Map<string, MemoryRecord>();
      for await (const record of store.list({ asOf: revision })) then.set(record.uri, record);
      const writes: Again[] = [];
      for await (const now of store.list({})) {
        const before = then.get(now.uri);
        if (before !== undefined && holds(before, now)) continue;
        if (before?.state === "published") writes.push(this.#again(before, now.version, { ...decided, state: "published" }));
        else if (now.state === "published") writes.push(this.#again(now, now.version, { ...decided, state: "retracted" }));
      }
      return writes;
    });
  }

  /** A revision as people name it: its number, or the time at which it was the newest. */
  async #revisionAt(to: number | string): Promise<number> {
    const newest = await this.revision();
    if (typeof to === "number" || /^\d+$/.test(to)) {
      if (isRevision(Number(to), newest)) return Number(to);
      throw unsupported("to", `is ${to}`, `give a revision from 0 to ${newest}, or a time`);
    }
    const time = Date.parse(to);
    if (Number.isNaN(time))
      throw unsupported("to", `is ${JSON.stringify(to)}`, `give a revision from 0 to ${newest}, or a time like 2026-01-31T12:00:00Z`);
    let revision = 0;
    for await (const record of (await this.#store()).list({ asOf: "all" }))
      if (Date.parse(record.at) <= time) revision = Math.max(revision, record.revision);
    return revision;
  }

  /** One that is yet to come would be read as the newest, in silence. */
  async #givenRevision(asOf: number | undefined, field: string): Promise<void> {
    if (asOf === undefined) return;
    const newest = await this.revision();
    if (!isRevision(asOf, newest)) throw unsupported(field, `is ${shown(asOf)}`, `give a revision from 0 to ${newest}`);
  }

  async publish(session: Session): Promise<{ readonly published: readonly string[]; readonly held: readonly string[] }> {
    await this.#runtime.save(session);
    const { node } = this.#runtime.here(session);
    const state = stateOf(node);
    const { problemsOf, publish } = await import("./publish.ts");
    const done = state.rejected === undefined ? await publish(this.#runtime.memories, state) : undefined;
    if (done === undefined) return { published: [], held: [] };
    const [problem] = problemsOf(done);
    if (problem !== undefined) throw new RathError("memory.changed", problem, { session, details: { refused: done.refused } });
    return { published: done.items.map(({ uri }) => uri), held: (done.held ?? []).map(({ uri }) => uri) };
  }

  /** What is kept of a decision: no secrets. */
  #decided(decision: MemoryDecision, verb: string): MemoryDecision {
    const { memories } = this.#runtime;
    const { by, reason } = givenDecision(decision, verb);
    return { by: memories.clean(by), reason: memories.clean(reason) };
  }

  /** Another version of something, by a person outside a session. */
  #again(item: MemoryRecord, based: number, { state, by, reason }: MemoryDecision & { readonly state: "published" | "retracted" }): Again {
    const { revision: _, ...rest } = item;
    const { platform } = this.#runtime;
    const from = [...new Set([...item.from, versionName(item)])];
    const version = based + 1;
    return {
      item: { ...rest, version, state, by, reason, from, event: platform.newId(), session: undefined, at: platform.time() },
      based,
      of: item.version,
      ...(state === "published" ? { again: item.version } : {}),
    };
  }

  /** All of it or nothing; again when somebody else wrote meanwhile. */
  async #write(plan: () => Promise<readonly Again[]>): Promise<readonly MemoryRecord[]> {
    const store = await this.#store();
    for (let left = tries; ; left--) {
      const writes = await plan();
      if (writes.length === 0) return [];
      const { written, refused } = await store.write(writes, { whole: true });
      const [other] = refused;
      if (other === undefined) return this.#unlessErased(written, writes);
      if (left === 1)
        throw new RathError("memory.changed", `${other.item.uri} is written by others faster than this can be decided: try again.`, {
          retryable: true,
        });
    }
  }

  /** Whoever erased what is said again here, after it was read and before it was written, did not see these versions: they go too. */
  async #unlessErased(written: readonly MemoryRecord[], writes: readonly Again[]): Promise<readonly MemoryRecord[]> {
    const memories: string[] = [];
    const entries = new Set<string>();
    for (const { item, of } of writes) {
      const erased = (await this.#versions(item.uri)).find(({ version }) => version === of)?.erased;
      if (erased === undefined || item.erased !== undefined) continue;
      memories.push(versionName(item));
      entries.add(erased);
    }
    if (memories.length === 0) return written;
    const [{ addErasure }, { removeAll }] = await Promise.all([import("./erasure-log.ts"), import("./finish-erasures.ts")]);
    const reason = `written again while it was erased: see ${[...entries].join(", ")}`;
    const id = await addErasure(this.#runtime, "runtime", { reason, memories });
    await removeAll(this.#runtime, [{ id, events: [], memories }], new Set());
    return Promise.all(written.map(async (record) => (await this.get(versionName(record))) ?? record));
  }

  async #versions(uri: string): Promise<readonly MemoryRecord[]> {
    const found: MemoryRecord[] = [];
    for await (const record of (await this.#store()).list({ uri, asOf: "all" })) found.push(record);
    return found;
  }

  /** The newest version of a memory; a key that several have must be named by its uri. */
  async #newest(name: string): Promise<MemoryRecord | undefined> {
    const found: MemoryRecord[] = [];
    const query = isMemoryUri(name) ? { uri: name } : { key: name };
    for await (const record of (await this.#store()).list(query)) found.push(record);
    const alive = found.filter(({ state }) => state === "published");
    const [only, ...others] = alive.length > 0 ? alive : found;
    if (only !== undefined && others.length > 0)
      throw ambiguousKey(
        name,
        [only, ...others].map(({ uri }) => uri),
      );
    return only;
  }
}

function givenDecision(decision: MemoryDecision, field: string): MemoryDecision {
  const { by, reason } = givenOptions(decision, ["by", "reason"], field);
  for (const [name, text] of Object.entries({ by, reason }))
    if (givenText(text, `${field}.${name}`).trim() === "") throw unsupported(`${field}.${name}`, "is empty", "say it: it is kept");
  return { by, reason };
}

function isRevision(number: number, newest: number): boolean {
  return Number.isInteger(number) && number >= 0 && number <= newest;
}

/** Whoever names a version has looked at it, and may not want to take back another. */
function superseded(name: string, { uri, version, state }: MemoryRecord): RathError {
  return new RathError(
    "memory.changed",
    `${name} is not the newest version: it is at ${version} (${state}). Take back ${uri} if that is meant.`,
    {
      details: { uri, current: version },
    },
  );
}

/** What is there now is what was there then, though it may have been written again. */
function holds(then: MemoryRecord, now: MemoryRecord): boolean {
  const same = then.state === now.state && then.content === now.content && then.trust === now.trust && then.expires === now.expires;
  return then.version === now.version || same;
}

function beginnings(scope: MemoryScope | readonly MemoryScope[] | undefined, user: string | undefined, field: string): readonly string[] {
  const scopes = givenScopes(scope, `${field}.scope`);
  if (user === undefined) return scopes?.map((one) => memoryPrefix(one, undefined)) ?? ["memory://"];
  givenText(user, `${field}.user`);
  return (scopes ?? memoryScopes).map((one) => memoryPrefix(one, one === "user" ? user : undefined));
}
