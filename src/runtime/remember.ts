/** Remembering and forgetting as effects: what is written is staged on the branch, stamped with where it comes from. */
import type { MemoryRecord, Vector } from "../memory/memory.ts";
import { durationMs } from "../session/duration.ts";
import { RathError } from "../session/errors.ts";
import { type DataOf, isCalled, isReturned } from "../session/event.ts";
import { callOf, stateOf } from "../session/fold.ts";
import { type Effect, EffectResult, type ForgetRequest, type InnerEffectContext, type Owned, type Place } from "../session/host.ts";
import { current, type Node, placesBefore } from "../session/log.ts";
import type { MemoryItem, MemoryOrigin, MemoryScope, Publish, Remembered, Trust } from "../session/memory.ts";
import { memoryUri, noMemory } from "../session/memory-uri.ts";
import { contentOf, namesRead, stagedAt, versionName } from "../session/remembered.ts";
import { lowest, originOf, trustAt, trustOf, trustOfOutput } from "../session/trust.ts";
import { strictest } from "../tool/memory-policy.ts";
import { embed, toBytes } from "./embedding.ts";
import type { Execution } from "./execution.ts";
import type { Memories } from "./memories.ts";
import { fencedAt, ownerAt } from "./memory-owner.ts";
import { OwnWrites, writeMemory } from "./write-memory.ts";

type StagedItem = NonNullable<DataOf<"remember.returned">["item"]>;

/** What a write is called by. */
interface Name {
  readonly scope: MemoryScope;
  readonly owner: string | undefined;
  readonly key: string;
}

/** Where a write comes from. */
interface Evidence {
  readonly because: readonly Node[];
  readonly from: readonly string[];
  readonly origin: MemoryOrigin;
  readonly trust: Trust;
}

export function rememberEffect(memories: Memories, place: Place, item: Remembered, owned?: Owned): Effect {
  const { content, because, expires, publish } = item;
  // Its name is in its uri, where a secret would be written in other characters and not be found any more.
  const key = memories.clean(item.key);
  const scope = item.scope ?? place.context.memory ?? "project";
  const evidence = evidenceFor(memories, place, because);
  const name = { scope, owner: owned === undefined ? ownerAt(place, scope) : owned.owner, key };
  const uri = memoryUri(scope, name.owner, key);
  const rule = memories.ruleAt(place);
  const wanted = strictest([publish, rule?.publish({ uri, key, scope, origin: evidence.origin, trust: evidence.trust })]);
  const called = {
    key,
    content,
    scope,
    ...(because === undefined ? {} : { because: [...because] }),
    ...(expires === undefined ? {} : { expires }),
    ...(publish === undefined ? {} : { publish }),
  };
  const fenced = owned === undefined ? fencedAt(place, [scope]) : undefined;
  const whole = { ...item, ...name, publish: wanted ?? "return" };
  const run = (inner: InnerEffectContext) => (fenced === undefined ? remember(memories, place, whole, evidence, inner) : denied(fenced));
  // What is published at once reaches others: it is written under its key, however often it is tried.
  return { op: "remember", called, repeat: wanted === "now" ? "keyed" : "safe", run };
}

async function remember(
  memories: Memories,
  place: Place,
  { content, expires, publish, ...name }: Remembered & Name & { readonly publish: Publish },
  evidence: Evidence,
  inner: InnerEffectContext,
): Promise<EffectResult> {
  const { platform } = memories;
  const store = await memories.store();
  const at = platform.time();
  const { key, scope } = name;
  const versions = await nextVersion(memories, place, name);
  const ends = expires === undefined ? {} : { expires: new Date(Date.parse(at) + durationMs(expires)).toISOString() };
  const item: StagedItem = { ...versions.item, ...copied(evidence), publish, ...ends };
  const whole: MemoryItem = asItem(
    item,
    withoutSecrets(content, (text) => memories.clean(text)),
    { key, scope, by: place.context.by, event: inner.key, session: inner.branch, at },
  );
  const refused = memories.ruleAt(place)?.refuses(whole, versions.before);
  if (refused !== undefined) return denied(refused);
  const embedded = await embed(memories, store, `${key}\n${whole.content}`, inner.signal);
  const vector = embedded?.vector;
  const published = publish === "now" ? await publishNow(memories, place, whole, item.based, vector) : undefined;
  return new EffectResult(
    "ok",
    {
      item: published === undefined ? item : asWritten(item, published),
      revision: versions.revision,
      ...(vector === undefined ? {} : { vector: { model: vector.model, values: toBytes(vector.values) } }),
      ...(published === undefined ? {} : { published: published.revision }),
    },
    { usage: embedded?.usage },
  );
}

/** What is given to others is what is on record: without secrets. */
function withoutSecrets(content: unknown, clean: (text: string) => string): { readonly content: string; readonly value?: unknown } {
  const { content: text, value } = contentOf(content);
  const cleaned = clean(text);
  return value === undefined ? { content: cleaned } : { content: cleaned, value: cleaned === text ? value : JSON.parse(cleaned) };
}

async function publishNow(
  memories: Memories,
  { node }: Place,
  item: MemoryItem,
  based: number,
  vector: Vector | undefined,
): Promise<MemoryRecord> {
  const write = { item: { ...item, state: "published" as const }, based, vector };
  const { written, refused } = await writeMemory(memories, new OwnWrites(stateOf(node)), [write]);
  const [record] = written;
  if (record !== undefined) return record;
  const [problem] = refused;
  throw new RathError(
    "memory.changed",
    `${item.uri} was changed by somebody else: it is at version ${problem?.current?.version ?? 0}, and this one was based on ${based}. Recall it and decide again.`,
    { details: { uri: item.uri, based, current: problem?.current?.version ?? 0 } },
  );
}

/** A call that was interrupted after it had published is on record as what it published then. */
function asWritten(item: StagedItem, { version, expires }: MemoryRecord): StagedItem {
  const { expires: _, ...rest } = item;
  return { ...rest, version, based: Math.min(item.based, version - 1), ...(expires === undefined ? {} : { expires }) };
}

/** Refused before anything is looked at. */
function denied(reason: string): EffectResult {
  return new EffectResult("denied", { reason });
}

export function forgetEffect(memories: Memories, place: Place, given: ForgetRequest): Effect {
  const request = { ...given, key: memories.clean(given.key) };
  const evidence = evidenceFor(memories, place, undefined);
  const fenced = fencedAt(place, [request.scope]);
  const run = () => (fenced === undefined ? forget(memories, place, request, evidence) : denied(fenced));
  return { op: "forget", called: request, repeat: "safe", run };
}

async function forget(memories: Memories, place: Place, { key, scope, reason }: ForgetRequest, evidence: Evidence): Promise<EffectResult> {
  const { item, revision, before } = await nextVersion(memories, place, { scope, owner: ownerAt(place, scope), key });
  if (before === undefined) throw noMemory(item.uri);
  const { origin, trust } = evidence;
  const ending: MemoryItem = { ...before, ...copied(evidence), version: item.version, state: "retracted", by: place.context.by, reason };
  const refused = memories.ruleAt(place)?.refuses(ending, before);
  if (refused !== undefined) return denied(refused);
  const ruled = memories.ruleAt(place)?.publish({ uri: item.uri, key, scope, origin, trust });
  const publish: Publish = ruled === undefined || ruled === "now" ? "return" : ruled;
  return new EffectResult("ok", { item: { ...item, ...copied(evidence), publish }, revision });
}

/** The version that a write makes, the published one it replaces, and what is seen of it here before. */
async function nextVersion(
  memories: Memories,
  place: Place,
  { scope, owner, key }: Name,
): Promise<{
  readonly item: Pick<StagedItem, "uri" | "owner" | "version" | "based">;
  readonly revision: number;
  readonly before: MemoryItem | undefined;
}> {
  const uri = memoryUri(scope, owner, key);
  const revision = await memories.revisionForWriting(place);
  const store = await memories.store();
  let published: MemoryItem | undefined;
  for await (const record of store.list({ uri, asOf: revision })) published = record;
  const state = stateOf(place.node);
  const staged = stagedAt(state, memories.platform).get(uri);
  const [pending] = staged === undefined ? [] : await memories.notIn([staged], revision);
  const version = Math.max(published?.version ?? 0, staged?.item.version ?? 0) + 1;
  const based = pending === undefined ? (published?.version ?? 0) : pending.based;
  const seen = pending?.item ?? published;
  const before = seen?.state === "retracted" ? undefined : seen;
  return { item: { uri, ...(owner === undefined ? {} : { owner }), version, based }, revision, before };
}

/** What justifies a write: what it names, or what was said last; a model's own writes are no better than what it read. */
function evidenceFor({ platform }: Memories, { node, context }: Place, because: readonly string[] | undefined): Evidence {
  const state = stateOf(node);
  const newest = state.said ?? state.talk?.node;
  const named: readonly Named[] =
    because === undefined ? (newest === undefined ? [] : [{ event: newest, result: newest, foreign: false }]) : eventsBefore(node, because);
  const sources = named.map(({ result }) => result);
  const [first] = sources;
  const around = callsAround(node).filter(({ kind }) => kind === "tool.called");
  const stamped: Trust[] = named.map(({ result, foreign }) => (foreign ? "untrusted" : trustOf(result, platform)));
  if (because === undefined) stamped.push(trustOfOutput(node, platform));
  if (around.some((call) => isForeign(call, context.execution as Execution))) stamped.push("untrusted");
  const unsaid = because === undefined || around.length > 0;
  const readBefore = [...sources.filter((source) => originOf(source, platform) !== "human"), ...(unsaid ? [node] : [])];
  const read = new Set<string>();
  for (const place of readBefore) for (const name of namesRead(stateOf(place), platform)) read.add(name);
  for (const source of sources)
    for (const hit of source.kind === "recall.returned" ? (source.data<"recall.returned">(platform)?.value ?? []) : [])
      read.add(versionName(hit));
  return {
    because: named.map(({ event }) => event),
    from: [...read],
    origin: first === undefined ? "human" : originOf(first, platform),
    trust: lowest(unsaid ? [...stamped, trustAt(node)] : stamped),
  };
}

/** The calls that a place is inside of: what is written there came from whoever called. */
function callsAround(node: Node): readonly Node[] {
  const calls: Node[] = [];
  for (let at = node.log.first?.parent; at !== undefined; at = at.log.first?.parent) if (isCalled(at.kind)) calls.push(at);
  return calls;
}

/** A tool of a program is at work, which may have its text from anywhere, what it says to models inside it included. */
function isForeign(call: Node, { open }: Execution): boolean {
  for (const { called, effect } of open) if (current(called) === current(call)) return effect.trustsInner !== true;
  return true;
}

/** Evidence by its id. */
interface Named {
  readonly event: Node;
  /** What came of it, where it is a call. */
  readonly result: Node;
  /** It lies inside a tool whose result is not trusted. */
  readonly foreign: boolean;
}

/** Events of the past by their ids, each once, and what came of those that are calls. */
function eventsBefore(node: Node, ids: readonly string[]): readonly Named[] {
  const wanted = new Set(ids);
  const found = new Map<string, Named>();
  const results = new Map<Node, Node>();
  const seen = new Set<Node>([node]);
  const waiting = [node];
  for (let at = takeNewest(waiting); at !== undefined && found.size < wanted.size; at = takeNewest(waiting)) {
    if (isReturned(at.kind)) results.set(callOf(at), at);
    // A call is judged by what came of it.
    if (wanted.has(at.id)) found.set(at.id, { event: at, result: results.get(at) ?? at, foreign: isInsideUntrusted(at, results) });
    for (const before of placesBefore(at))
      if (!seen.has(before)) {
        seen.add(before);
        waiting.push(before);
      }
  }
  const missing = ids.find((id) => !found.has(id));
  if (missing !== undefined)
    throw new RathError(
      "value.unsupported",
      `remember.because names ${JSON.stringify(missing)}, which is no event before this place of the session: give ids like call.id or message.event.`,
      { details: { field: "remember.because", event: missing } },
    );
  return [...wanted].flatMap((id) => found.get(id) ?? []);
}

/** Results come before their calls then, and what is new is found without a look at what is old. */
function takeNewest(waiting: Node[]): Node | undefined {
  let newest = waiting.length - 1;
  for (const [index, { step }] of waiting.entries()) if (step > (waiting[newest] as Node).step) newest = index;
  return newest < 0 ? undefined : waiting.splice(newest, 1)[0];
}

function isInsideUntrusted(node: Node, results: ReadonlyMap<Node, Node>): boolean {
  return callsAround(node).some(
    (call) => call.kind === "tool.called" && results.get(call)?.facts.trusted === undefined && results.has(call),
  );
}

/** Lists of its own: what is recorded is not shared. Events are named as they are called now, since a branch may have moved. */
function copied({ because, from, origin, trust }: Evidence): Pick<StagedItem, "because" | "from" | "origin" | "trust"> {
  return { because: because.map((event) => current(event).id), from: [...from], origin, trust };
}

function asItem(
  { uri, owner, version, origin, trust, because, from, expires }: StagedItem,
  content: { readonly content: string; readonly value?: unknown },
  { key, scope, ...written }: Pick<MemoryItem, "key" | "scope" | "event" | "session" | "by" | "at">,
): MemoryItem {
  return { uri, key, ...content, scope, owner, version, state: "staged", origin, trust, because, from, ...written, expires };
}
