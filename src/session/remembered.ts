/** What a branch recalled and remembered, as a view of its events: what is staged on it, and what models no longer read. */
import { fullView, inRanges, viewOf } from "./context.ts";
import { type Chain, callOf, list, type State, stateOf } from "./fold.ts";
import type { Node } from "./log.ts";
import type { Compression, MemoryHit, MemoryItem, MemoryRead, Publish } from "./memory.ts";
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

type Stage = ReadonlyMap<string, Staged>;
const stages = new WeakMap<Chain, Stage>();
const nothing: Stage = new Map();

/** The newest write of each uri on a branch. Costs what is new since somebody last looked. */
export function stagedAt({ writes }: State, platform: Platform): Stage {
  const fresh: Chain[] = [];
  let at = writes;
  for (; at !== undefined && !stages.has(at); at = at.before) fresh.push(at);
  if (fresh.length === 0) return at === undefined ? nothing : (stages.get(at) as Stage);
  const stage = new Map(at === undefined ? nothing : stages.get(at));
  for (const link of fresh.reverse()) apply(stage, link, platform);
  stages.set(writes as Chain, stage);
  return stage;
}

function apply(stage: Map<string, Staged>, link: Chain, platform: Platform): void {
  const { node } = link;
  if (node.kind !== "session.merged") {
    const staged = stagedBy(node, platform);
    if (staged !== undefined) stage.set(staged.item.uri, staged);
    return;
  }
  for (const { uri, event } of node.data<"session.merged">(platform)?.memory ?? []) {
    const chosen = writeBefore(link, event, platform);
    if (chosen !== undefined) stage.set(uri, chosen);
  }
}

function writeBefore(link: Chain, event: string, platform: Platform): Staged | undefined {
  for (let at = link.before; at !== undefined; at = at.before)
    if (at.node.kind !== "session.merged" && callOf(at.node).id === event) return stagedBy(at.node, platform);
  return undefined;
}

const made = new WeakMap<Node, Staged>();

/** What a result staged; undefined once it was erased. */
export function stagedBy(node: Node, platform: Platform): Staged | undefined {
  const known = made.get(node);
  if (known !== undefined) return known;
  const call = callOf(node);
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
