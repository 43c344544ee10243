/**
 * What happened, apart from who, when and under which ids: the digest that replay, rerun and diff compare. It covers kind,
 * version, outcome and data, with event ids replaced by what they name; it is computed from contents and never stored.
 */
import { isReturned, isStarted } from "./event.ts";
import { callOf } from "./fold.ts";
import { type Node, placesBefore } from "./log.ts";
import type { Platform } from "./platform.ts";
import { replacementOf } from "./remembered.ts";

/** Remembers digests of places; a caller may seed it, so that one place counts as another. */
export type Whats = Map<Node, string>;
/** Digests of single results of batches, where one counts as another. */
type Results = ReadonlyMap<Node, string>;

const noResults: Results = new Map();

type Text = (node: Node) => string;

/** Digest of an event and everything before it. */
export function whatOf(node: Node, platform: Platform, text: Text, known: Whats, results = noResults): string {
  const waiting: Node[] = [node];
  for (let next = waiting.at(-1); next !== undefined; next = waiting.at(-1)) {
    const before = placesBefore(next);
    const missing = known.has(next) ? [] : before.filter((parent) => !known.has(parent));
    if (missing.length > 0) waiting.push(...missing);
    else {
      waiting.pop();
      // That an effect had to wait before it started changes nothing about what happened.
      if (isStarted(next.kind)) known.set(next, known.get(next.parent as Node) as string);
      else if (!known.has(next)) known.set(next, digest(next, before, platform, text, known, results));
    }
  }
  return known.get(node) as string;
}

function digest(node: Node, before: readonly Node[], platform: Platform, text: Text, known: Whats, results: Results): string {
  if (isReturned(node.kind) && node.facts.call !== undefined) return digestInBatch(node, platform, text, known, results);
  return platform.sha256(JSON.stringify([...contentOf(node, platform, text), before.map((parent) => known.get(parent))]));
}

/** Digest of a result of a batch by itself: it stands on its call and on its nested work, whenever it came. */
export function whatOfResult(result: Node, platform: Platform, text: Text, known: Whats, results = noResults): string {
  const standsFor = results.get(result);
  if (standsFor !== undefined) return standsFor;
  const [call, ...inner] = [callOf(result), ...result.parents.slice(1)].map((place) => whatOf(place, platform, text, known, results));
  return platform.sha256(JSON.stringify([...contentOf(result, platform, text), call, inner]));
}

/** Results of a batch come in any order: each stands on its call, and the last one on all of them in call order. */
function digestInBatch(node: Node, platform: Platform, text: Text, known: Whats, stand: Results): string {
  const alone = (result: Node): string => whatOfResult(result, platform, text, known, stand);
  const results: Node[] = [];
  for (let at: Node | undefined = node; at !== undefined && (isReturned(at.kind) || isStarted(at.kind)); at = at.prior)
    if (isReturned(at.kind)) results.push(at);
  const size = (callOf(node).data(platform) as { readonly batch?: { readonly size: number } } | undefined)?.batch?.size ?? 1;
  const batch = results.slice(0, size);
  if (batch.length < size) return alone(node);
  return platform.sha256(JSON.stringify(["batch", ...batch.sort((a, b) => callOf(a).seq - callOf(b).seq).map(alone)]));
}

/** What one event says, without what came before it. */
export function whatOfEvent(node: Node, platform: Platform, text: Text): string {
  const call = isReturned(node.kind) && node.kind !== "model.returned" ? contentOf(callOf(node), platform, text) : [];
  return platform.sha256(JSON.stringify([...call, ...contentOf(node, platform, text)]));
}

/** What an event says by itself: kind, version, outcome and data without ids. */
function contentOf(node: Node, platform: Platform, text: Text): readonly unknown[] {
  return [node.kind, node.version, node.facts.outcome ?? "", dataOf(node, platform, text)];
}

/** Data whose ids are named by the parents instead. */
function dataOf(node: Node, platform: Platform, text: Text): unknown {
  if (node.erased) return "erased";
  switch (node.kind) {
    case "session.forked": {
      const { label, implicit, nested } = node.data<"session.forked">(platform);
      return [label ?? "", implicit ?? false, nested ?? false];
    }
    case "session.merged": {
      const { adopt, reason, context, files, memory } = node.data<"session.merged">(platform);
      const settled = memory === undefined ? [] : [memory.map(({ uri }) => uri)];
      return [adopt ?? false, reason ?? "", JSON.stringify(context), ...(files === undefined ? [] : [files.tree]), ...settled];
    }
    case "workflow.entered":
    case "session.created":
    case "session.detached":
    case "session.imported":
    case "workflow.left":
      return "";
    case "model.called": {
      const { request: _, changed: __, ...rest } = node.data<"model.called">(platform);
      return JSON.stringify(rest);
    }
    case "model.returned": {
      const { parts = [], finish, message, reason } = node.data<"model.returned">(platform);
      return JSON.stringify([parts.map((part, index) => withoutIds(part, index)), finish, message, reason]);
    }
    case "recall.returned": {
      const { value = [], injected, message, reason } = node.data<"recall.returned">(platform);
      return JSON.stringify([value.map(({ uri, version, content }) => [uri, version, content]), injected, message, reason]);
    }
    case "remember.called": {
      const { because = [], ...rest } = node.data<"remember.called">(platform);
      return JSON.stringify([rest, because.length]);
    }
    case "remember.returned":
    case "forget.returned": {
      const { item, message, reason } = node.data<"remember.returned">(platform);
      return JSON.stringify([item?.uri, item?.version, item?.origin, item?.trust, message, reason]);
    }
    case "context.compressed": {
      const { policy, dropped, kept, shortened = [] } = node.data<"context.compressed">(platform);
      const sizes = [dropped, kept].map((ranges) => ranges.map(({ events }) => events));
      return JSON.stringify([policy, sizes, shortened.map(({ to }) => to), replacementOf(node, platform)]);
    }
    case "receive.returned": {
      // Which of the signals it was is how it came about.
      const { signal: _, ...rest } = node.data<"receive.returned">(platform);
      return JSON.stringify(rest);
    }
    case "tool.returned":
    case "route.returned":
    case "ask.returned":
    case "check.returned":
    case "do.returned": {
      // Who answered, what was tried before and in which sandbox it ran are how it came about, not what it came to.
      const data = node.data<"tool.returned">(platform);
      if (data.answer === undefined && data.failures === undefined && data.acted === undefined) return text(node);
      const { answer: _, failures: __, acted, ...rest } = data;
      return JSON.stringify(acted === undefined ? rest : { ...rest, value: withoutTime(data.value), changes: acted.changes });
    }
    default:
      return text(node);
  }
}

/** The result of a command says how long it took. */
function withoutTime(value: unknown): unknown {
  if (typeof value !== "object" || value === null || !("durationMs" in value)) return value;
  const { durationMs: _, ...rest } = value;
  return rest;
}

/** Call ids are the provider's and differ each time: a call is named by its place. */
function withoutIds(part: Readonly<Record<string, unknown>>, index: number): unknown {
  const { metadata: _, signature: __, ...rest } = part;
  return rest["type"] === "call" ? { ...rest, id: index } : rest;
}
