/** What was recalled, remembered and left out of a model's context, in words. */
import type { Event } from "../session/event.ts";
import type { Compression, MemoryHit, MemoryItem, MemoryRead, Publish } from "../session/memory.ts";
import { versionName } from "../session/remembered.ts";
import { count, money, plural } from "./format.ts";
import { neutralJson } from "./neutral.ts";

type MemoryEvent = Event<
  "recall.called" | "recall.returned" | "remember.called" | "remember.returned" | "forget.called" | "forget.returned" | "memory.published"
>;

/** An event of memory in one line; of a result with the call it belongs to. */
export function memoryLine(event: MemoryEvent, call: Event | undefined): string {
  switch (event.kind) {
    case "recall.called":
      return `recall ${event.data.query ?? event.data.key ?? "all"}${event.data.scopes === undefined ? "" : ` of ${event.data.scopes.join(", ")}`}`;
    case "recall.returned": {
      const asked = call?.kind === "recall.called" && call.data !== undefined ? ` ${call.data.query ?? call.data.key ?? "all"}` : "";
      return `recall${asked} → ${failed(event) ?? foundText(event)}`;
    }
    case "remember.called":
      return `remember ${event.data.key}: ${contentText(event.data.content)}`;
    case "forget.called":
      return `forget ${event.data.key}: ${event.data.reason}`;
    case "remember.returned":
    case "forget.returned":
      return `${event.kind === "remember.returned" ? "remember" : "forget"}${stagedText(event, call)}`;
    case "memory.published":
      return publishedText(event);
    default:
      return event satisfies never;
  }
}

function foundText({ data }: Event<"recall.returned">): string {
  const hits = (data.value ?? []) as readonly MemoryHit[];
  if (hits.length === 0) return "nothing found";
  const read = data.injected === undefined ? "" : `, ${count(data.injected.length)} given to the model`;
  return `${hits.map((hit) => `${versionName(hit)} (${scoreText(hit)}, ${hit.trust})`).join(", ")}${read}`;
}

function stagedText(event: Event<"remember.returned" | "forget.returned">, call: Event | undefined): string {
  const { item } = event.data;
  const problem = failed(event);
  if (item === undefined || problem !== undefined) {
    const { key = "" } = (call?.data ?? {}) as { readonly key?: string };
    return ` ${key} → ${problem ?? "ok"}`;
  }
  const published = event.kind === "remember.returned" ? event.data.published : undefined;
  const state = published === undefined ? `staged${waitText(item.publish)}` : `published at revision ${published}`;
  return ` ${versionName(item)} → ${state} (from ${item.origin}, ${item.trust})`;
}

/** What something staged waits for, where that is more than the end of its run. */
function waitText(publish: Publish): string {
  if (publish === "never") return " for good";
  return typeof publish === "object" ? ` until the check ${JSON.stringify(publish.check)} passes` : "";
}

function publishedText({ data: { revision, items, held = [], refused = [], problem } }: Event<"memory.published">): string {
  if (problem !== undefined) return `memory was not published: ${problem}`;
  const parts = [
    items.length === 0 ? "no memory published" : `published at revision ${revision}: ${items.map(versionName).join(", ")}`,
    ...held.map(({ uri, reason }) => `held: ${uri}, ${reason}`),
    ...refused.map(({ uri, current }) => `refused: ${uri}, which is at version ${current}`),
  ];
  return parts.join("; ");
}

/** What an effect came to that did not go well. */
function failed({ facts, data }: Event<"recall.returned" | "remember.returned" | "forget.returned">): string | undefined {
  const { outcome = "ok" } = facts;
  const why = data.message ?? data.reason;
  return outcome === "ok" ? undefined : `${outcome}${why === undefined ? "" : ` ${why}`}`;
}

export function compressedLine({ data: { policy, dropped, shortened = [], tokens } }: Event<"context.compressed">): string {
  const events = dropped.reduce((sum, range) => sum + range.events, 0);
  return `context: ${compressionText({ policy, dropped: events, shortened: shortened.length, tokens })}`;
}

function compressionText(about: {
  readonly policy: string;
  readonly dropped: number;
  readonly shortened: number;
  readonly tokens: Compression["tokens"];
}): string {
  const { policy, dropped, shortened, tokens } = about;
  const less = [
    ...(dropped === 0 ? [] : [`${plural(dropped, "event")} no longer read`]),
    ...(shortened === 0 ? [] : [`${plural(shortened, "result")} shortened`]),
  ];
  const what = policy === "full" ? "all is read again" : less.length === 0 ? "all is read" : less.join(", ");
  return `${policy}, ${what}, ${count(tokens.before)} to ${count(tokens.after)} tokens`;
}

/** A compression as `show` tells it. */
export function compressionLine({ policy, dropped, shortened, tokens, usage, step, by }: Compression): string {
  const cost = usage === undefined ? "" : `, ${money(usage.usd)}`;
  return `${compressionText({ policy, dropped: dropped.length, shortened: shortened.length, tokens })}${cost} (step ${step}, ${by})`;
}

/** Something recalled as `show` tells it. */
export function readLine(read: MemoryRead): string {
  const reader = read.recall.injected ? "given to the model" : "not given to a model";
  return `${versionName(read)} (score ${scoreText(read)}, ${read.trust}, ${reader}, step ${read.recall.step}): ${read.content}`;
}

/** Something remembered as `show` tells it. `became` says more of its state than the item does. */
export function writeLine(
  item: MemoryItem,
  shortEvent: (id: string) => string,
  { publish = "return", became }: { readonly publish?: Publish | undefined; readonly became?: string | undefined } = {},
): string {
  const state = became ?? `${item.state}${item.state === "staged" ? waitText(publish) : ""}`;
  const evidence = item.because.length === 0 ? "" : `, because ${item.because.map(shortEvent).join(", ")}`;
  const what = item.state === "retracted" && item.content === "" ? (item.reason ?? "forgotten") : item.content;
  return `${versionName(item)} (${state}, from ${item.origin}, ${item.trust}${evidence}): ${what}`;
}

function scoreText({ score }: { readonly score: number }): number {
  return Number(score.toPrecision(3));
}

function contentText(content: unknown): string {
  return typeof content === "string" ? content : neutralJson(content);
}
