/** Recalling as an effect: what is in the store and on the branch, as of one revision; what the model reads of it is decided here too. */
import type { MemoryStore, Vector } from "../memory/memory.ts";
import { stateOf } from "../session/fold.ts";
import { type Effect, EffectResult, type InnerEffectContext, type Place, type RecallRequest } from "../session/host.ts";
import { injectedAt, tokensOfHit } from "../session/injected.ts";
import { current, type Node } from "../session/log.ts";
import type { MemoryHit, MemoryItem } from "../session/memory.ts";
import { type Staged, versionName } from "../session/remembered.ts";
import { embed, fromBytes } from "./embedding.ts";
import type { Memories } from "./memories.ts";
import { fencedAt, prefixesAt } from "./memory-owner.ts";

/** A rule may leave out some of what was found: so much more is looked for. */
const margin = 4;

export function recallEffect(memories: Memories, place: Place, given: RecallRequest): Effect {
  // Names hold no secrets: see how they are written.
  const request = given.key === undefined ? given : { ...given, key: memories.clean(given.key) };
  const fenced = fencedAt(place, request.scopes ?? []);
  if (fenced !== undefined)
    return { op: "recall", called: request, repeat: "safe", run: () => new EffectResult("denied", { reason: fenced }) };
  const within = prefixesAt(place, request.scopes);
  return { op: "recall", called: request, repeat: "safe", run: (inner) => recall(memories, place, request, within, inner) };
}

async function recall(
  memories: Memories,
  place: Place,
  request: RecallRequest,
  within: readonly string[],
  inner: InnerEffectContext,
): Promise<EffectResult> {
  const store = await memories.store();
  const revision = await memories.revisionAt(place, request.memory === "latest");
  const staged = await memories.stagedFor(stateOf(current(place.node)), revision);
  const branch = staged.filter(({ item }) => within.some((prefix) => item.uri.startsWith(prefix)));
  const rule = memories.ruleAt(place);
  const looking = { request, within, revision, branch, ruled: rule !== undefined };
  const { found, embedder, usage } =
    request.query === undefined ? await read(store, looking, memories.platform.time()) : await search(memories, store, looking, inner);
  const seen = found.filter((hit) => rule?.recalls(hit) !== false);
  const hits = seen.slice(0, request.limit);
  const shown = request.inject === undefined ? undefined : inject(place, request.inject.tokens, hits, memories);
  const hidden = found.filter((hit) => !seen.includes(hit)).map((hit) => ({ item: versionName(hit), why: "policy" as const }));
  const omitted = [...hidden, ...(shown?.omitted ?? [])];
  if (hits.length > 0) await memories.noteUses(hits, inner);
  const injected = shown?.injected ?? [];
  return new EffectResult(
    "ok",
    {
      value: hits,
      revision,
      within,
      ...(injected.length === 0 ? {} : { injected: injected.map(versionName) }),
      ...(omitted.length === 0 ? {} : { omitted }),
      ...(embedder === undefined ? {} : { embedder }),
    },
    {
      ...(usage === undefined ? {} : { usage }),
      facts: {
        ...(injected.length === 0 ? {} : { injected: true }),
        ...(hits.every(({ trust }) => trust === "trusted") ? { trusted: true } : {}),
      },
    },
  );
}

interface Looking {
  readonly request: RecallRequest;
  readonly within: readonly string[];
  readonly revision: number;
  readonly branch: readonly Staged[];
  readonly ruled: boolean;
}

interface Found {
  readonly found: readonly MemoryHit[];
  readonly embedder?: string | undefined;
  readonly usage?: EffectResult["spent"]["usage"];
}

async function search(
  memories: Memories,
  store: MemoryStore,
  { request, within, revision, branch, ruled }: Looking,
  inner: InnerEffectContext,
): Promise<Found> {
  const query = request.query ?? "";
  const embedded = await embed(memories, store, query, inner.signal);
  const { trust, origin, limit } = request;
  const hits = await store.search({
    text: query,
    vector: embedded?.vector,
    within,
    limit: ruled ? limit * margin : limit,
    asOf: revision,
    trust,
    origin,
    staged: branch.filter(({ forgotten }) => !forgotten).map(({ item, node }) => ({ item, vector: vectorOf(node, memories) })),
    without: branch.filter(({ forgotten }) => forgotten).map(({ item }) => item.uri),
  });
  return { found: hits.map((hit) => asHit(hit, hit.score, query)), embedder: embedded?.vector.model, usage: embedded?.usage };
}

/** The vector that was made when something was staged. */
function vectorOf(node: Node, { platform }: Memories): Vector | undefined {
  const stored = node.data<"remember.returned">(platform)?.vector;
  return stored === undefined ? undefined : { model: stored.model, values: fromBytes(stored.values) };
}

/** By key, or all that there is, newest first. */
async function read(store: MemoryStore, { request, within, revision, branch, ruled }: Looking, now: string): Promise<Found> {
  const { key, trust, origin, limit } = request;
  const enough = ruled ? limit * margin : limit;
  const wanted = (item: MemoryItem): boolean =>
    (trust === undefined || item.trust === trust) && (origin === undefined || item.origin === origin);
  const own = branch
    .filter(({ item, forgotten }) => !forgotten && (key === undefined || item.key === key))
    .map(({ item }) => item)
    .filter((item) => wanted(item) && (item.expires === undefined || item.expires > now));
  const written = new Set(branch.map(({ item }) => item.uri));
  const found = own.reverse();
  const stored = store.list({ key, within, asOf: revision, state: "published", alive: true, newestFirst: true });
  for await (const record of stored) {
    if (found.length >= enough) break;
    if (!written.has(record.uri) && wanted(record)) found.push(record);
  }
  return { found: found.map((item) => asHit(item, 1, key ?? "")) };
}

/** What of it the model reads: what it does not read already, as long as there is room. */
function inject(
  { node }: Place,
  tokens: number,
  hits: readonly MemoryHit[],
  { platform }: Memories,
): { readonly injected: readonly MemoryHit[]; readonly omitted: readonly { readonly item: string; readonly why: "known" | "tokens" }[] } {
  const known = injectedAt(stateOf(node), platform);
  const injected: MemoryHit[] = [];
  const omitted: { readonly item: string; readonly why: "known" | "tokens" }[] = [];
  let left = tokens;
  for (const hit of hits) {
    const item = versionName(hit);
    const size = tokensOfHit(hit);
    if (known.has(item)) omitted.push({ item, why: "known" });
    else if (size > left) omitted.push({ item, why: "tokens" });
    else {
      left -= size;
      injected.push(hit);
    }
  }
  return { injected, omitted };
}

/** As it is stored: without what is undefined, and without what only the store knows. */
function asHit(item: MemoryItem, score: number, query: string): MemoryHit {
  const { uri, key, content, value, scope, owner, version, state, origin, trust, because, from, event, session, by, at, expires, reason } =
    item;
  return {
    uri,
    key,
    content,
    ...(value === undefined ? {} : { value }),
    scope,
    ...(owner === undefined ? {} : { owner }),
    version,
    state,
    origin,
    trust,
    because,
    from,
    event,
    ...(session === undefined ? {} : { session }),
    by,
    at,
    ...(expires === undefined ? {} : { expires }),
    ...(reason === undefined ? {} : { reason }),
    score,
    query,
  } as MemoryHit;
}
