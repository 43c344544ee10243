/** What a branch recalled and remembered, as a view of its events: what is staged on it, and what models no longer read. */
import { fullView, inRanges, viewOf } from "./context.ts";
import { type Chain, callOf, list, type State, stateOf } from "./fold.ts";
import type { Node } from "./log.ts";
import type { Compression, MemoryHit, MemoryItem, MemoryRead, Publish } from "./memory.ts";
import { Newest, type NewestAt } from "./newest.ts";
import type { Platform } from "./platform.ts";

/** A write of a branch that holds there. */
export interface Staged {
  readonly item: MemoryItem;
  /** The newest published version it replaces; 0 when there is none. */
  readonly based: number;
  readonly publish: Publish;
  /** It ends the memory. */
  readonly forgotten: boolean;
  /** The result that staged it. */
  readonly node: Node;
}

/** The newest write of each uri on a branch. */
export type Stage = NewestAt<Staged>;

const stages = new Newest<Staged>();

/** The newest write of each uri on a branch. Costs what is new since somebody last looked. */
export function stagedAt({ writes }: State, platform: Platform): Stage {
  return stages.at(writes, (link, set) => {
    const { node } = link;
    if (node.kind !== "session.merged") {
      const staged = stagedBy(node, platform);
      if (staged !== undefined) set(staged.item.uri, staged);
      return;
    }
    const settled = node.data<"session.merged">(platform)?.memory ?? [];
    const chosen = writesBefore(link, new Set(settled.map(({ event }) => event)), platform);
    for (const { uri, event } of settled) {
      const staged = chosen.get(event);
      if (staged !== undefined) set(uri, staged);
    }
  });
}

/** Writes by their calls, found in one walk. */
function writesBefore({ before }: Chain, events: ReadonlySet<string>, platform: Platform): ReadonlyMap<string, Staged> {
  const found = new Map<string, Staged>();
  for (let at = before; at !== undefined && found.size < events.size; at = at.before) {
    const event = at.node.kind === "session.merged" ? "" : callOf(at.node).id;
    const staged = events.has(event) && !found.has(event) ? stagedBy(at.node, platform) : undefined;
    if (staged !== undefined) found.set(event, staged);
  }
  return found;
}

const readNames = new Newest<true>();

/** The names of all versions that were recalled, as "uri@version". Costs what is new, and the names. */
export function namesRead({ reads }: State, platform: Platform): Iterable<string> {
  const read = readNames.at(reads, ({ node }, set) => {
    for (const hit of node.data<"recall.returned">(platform)?.value ?? []) set(versionName(hit), true);
  });
  return namesOf(read);
}

function* namesOf(read: NewestAt<true>): Iterable<string> {
  for (const [name] of read) yield name;
}

const made = new WeakMap<Node, Staged>();

/** What a result staged; undefined once it was erased. */
export function stagedBy(node: Node, platform: Platform): Staged | undefined {
  const call = callOf(node);
  const known = node.erased || call.erased ? undefined : made.get(node);
  if (known !== undefined) return known;
  const asked = call.data<"remember.called" | "forget.called">(platform);
  const data = node.data<"remember.returned">(platform);
  if (asked === undefined || data?.item === undefined) return undefined;
  const { based, publish, owner, expires, ...rest } = data.item;
  const forgotten = !("content" in asked);
  const item: MemoryItem = Object.freeze({
    ...rest,
    key: asked.key,
    ...(forgotten ? { content: "", reason: asked.reason } : contentOf(asked.content)),
    scope: asked.scope,
    ...(owner === undefined ? {} : { owner }),
    state: forgotten ? "retracted" : data.published === undefined ? "staged" : "published",
    event: call.id,
    session: node.log.id,
    by: node.by,
    at: node.at,
    ...(expires === undefined ? {} : { expires }),
  });
  const staged = Object.freeze({ item, based, publish, forgotten, node });
  made.set(node, staged);
  return staged;
}

/** Content as text, and what it was made of where it was no text. */
export function contentOf(content: unknown): { readonly content: string; readonly value?: unknown } {
  return typeof content === "string" ? { content } : { content: JSON.stringify(content) ?? "", value: content };
}

/** Everything that was staged, oldest first, also what was written over since. */
export function writesOf({ writes }: State, platform: Platform): readonly MemoryItem[] {
  return list(writes).flatMap((node) => (node.kind === "session.merged" ? [] : (stagedBy(node, platform)?.item ?? [])));
}

/** Everything that was recalled, oldest first. */
export function readsOf({ reads }: State, platform: Platform): readonly MemoryRead[] {
  return list(reads).flatMap((node) => {
    const data = node.data<"recall.returned">(platform);
    const injected = new Set(data?.injected);
    const { id: event, by, step } = callOf(node);
    return ((data?.value ?? []) as readonly MemoryHit[]).map((hit) =>
      Object.freeze({
        ...hit,
        recall: Object.freeze({ event, by, step, revision: data?.revision ?? 0, injected: injected.has(versionName(hit)) }),
      }),
    );
  });
}

/** How one version is named in evidence. */
export function versionName({ uri, version }: { readonly uri: string; readonly version: number }): string {
  return `${uri}@${version}`;
}

/** What models were made not to read. */
export function compressionsOf({ compressed }: State, platform: Platform): readonly Compression[] {
  return list(compressed).flatMap((node) => (node.erased ? [] : compressionOf(node, platform)));
}

function compressionOf(node: Node, platform: Platform): Compression {
  const { policy, dropped, kept, shortened = [], tokens, usage } = node.data<"context.compressed">(platform);
  const before = stateOf(node.parent as Node).context;
  const { nodes } = policy === "full" ? fullView(before) : viewOf(before, platform);
  const ids = (ranges: typeof kept): readonly string[] => inRanges(nodes, ranges).map(({ id }) => id);
  return Object.freeze({
    event: node.id,
    step: node.step,
    by: node.by,
    policy,
    dropped: ids(dropped),
    kept: ids(kept),
    shortened,
    replacedBy: replacementOf(node, platform),
    tokens,
    usage,
  });
}

/** The text that a model reads in place of what was dropped. */
export function replacementOf(node: Node, platform: Platform): string | undefined {
  const { replacement } = node.data<"context.compressed">(platform) ?? {};
  if (replacement === undefined) return undefined;
  if ("text" in replacement) return replacement.text;
  let at = node.parent;
  while (at !== undefined && at.id !== replacement.event) at = at.parent;
  const value = at?.data<"do.returned">(platform)?.value;
  return value === undefined ? "[erased]" : typeof value === "string" ? value : JSON.stringify(value);
}
