/** Events in words, for people who ask why. What was said is quoted and cut; nothing in it can act on a terminal. */
import type { MemoryItem, MemoryRecord } from "../memory/memory.ts";
import { actedOf } from "../session/acted.ts";
import { counted } from "../session/counted.ts";
import { isReturned } from "../session/event.ts";
import { callOf } from "../session/fold.ts";
import type { Node } from "../session/log.ts";
import type { Platform } from "../session/platform.ts";
import { replacementOf, stagedBy, versionName } from "../session/remembered.ts";
import type { MemoryHit } from "../session/session.ts";
import { checkOf, messageOf, outcomeOf, routeOf } from "../session/views.ts";
import { outcomeText, valueText } from "../wire/event-line.ts";
import { count } from "../wire/format.ts";

const longest = 120;
const namedDecisions = 3;

export function wordsOf(node: Node, platform: Platform): string {
  if (node.erased) return `${node.kind} [erased]`;
  switch (node.kind) {
    case "message.added": {
      const { role, text } = messageOf(node, platform);
      return `${role}: ${quoted(text)}`;
    }
    case "model.called":
      return askedWords(node, platform);
    case "model.returned":
      return replyWords(node, platform);
    case "tool.called": {
      const { name, input } = node.data<"tool.called">(platform);
      return `${node.by} called ${nameWords(name)} ${valueWords(input)}`;
    }
    case "tool.returned":
      return resultWords(node, platform);
    case "recall.returned":
      return recallWords(node, platform);
    case "remember.called":
    case "forget.called":
      return `${node.by} ${node.kind === "remember.called" ? "remembered" : "forgot"} ${nameWords(node.data<"forget.called">(platform).key)}`;
    case "remember.returned":
    case "forget.returned": {
      const item = stagedBy(node, platform)?.item;
      return item === undefined ? `${node.kind}: ${node.facts.outcome ?? "unknown"}` : itemWords(item);
    }
    case "answer.given":
      return answerWords(node, platform);
    case "receive.called":
      return `${node.by} waited for the signal ${nameWords(node.data<"receive.called">(platform).signal)}`;
    case "signal.sent": {
      const { signal, data } = node.data<"signal.sent">(platform);
      return `${nameWords(node.by)} sent ${nameWords(signal)}${data === undefined ? "" : ` ${valueWords(data)}`}`;
    }
    case "session.merged": {
      const { branches, reason } = node.data<"session.merged">(platform);
      return `${node.by} merged ${branches.length + 1} branches${because(reason)}`;
    }
    case "context.compressed": {
      const { dropped, tokens } = node.data<"context.compressed">(platform);
      const events = dropped.reduce((sum, range) => sum + range.events, 0);
      return `a text in place of ${counted(events, "event")} (${count(tokens.before)} to ${count(tokens.after)} tokens): ${quoted(replacementOf(node, platform) ?? "")}`;
    }
    case "route.returned": {
      const { choice, candidates, reason } = routeOf(node, platform);
      return `${node.by} chose ${quoted(choice)} of ${candidates.map(nameWords).join(", ")}${because(reason)}`;
    }
    case "check.returned":
      return checkWords(node, platform);
    case "budget.crossed": {
      const { limit, of, spent, by } = node.data<"budget.crossed">(platform);
      const unit = limit === "usd" ? "US dollars" : limit === "time" ? "ms" : limit;
      return `${nameWords(by)} crossed the budget of ${count(of)} ${unit} with ${count(spent)}`;
    }
    case "session.forked": {
      const { label, nested } = node.data<"session.forked">(platform);
      return `${node.by} ${nested === true ? "began nested work" : "forked"}${label === undefined ? "" : ` ${quoted(label)}`}`;
    }
    case "session.created":
    case "session.detached":
      return `${node.by} ${node.kind === "session.created" ? "began the session" : "took it out of another session"}`;
    case "session.rejected":
      return `${node.by} rejected the branch${because(node.data<"session.rejected">(platform).reason)}`;
    case "ask.called":
      return `${node.by} asked a person: ${quoted(node.data<"ask.called">(platform).question)}`;
    case "placement.changed": {
      const { sandbox, spec } = node.data<"placement.changed">(platform);
      const { workspace } = spec as { readonly workspace?: unknown };
      return `was there when the session was placed in ${nameWords(sandbox)}${typeof workspace === "string" ? ` on ${nameWords(workspace)}` : ""}`;
    }
    default:
      return isReturned(node.kind) ? resultWords(node, platform) : `${node.by}: ${node.kind}`;
  }
}

/** Whom a call asked: the model that replied, where the reply names it. An agent may have the name of its model. */
export function askedWords(called: Node, platform: Platform, reply?: Node): string {
  if (called.erased) return wordsOf(called, platform);
  const model = reply?.data<"model.returned">(platform)?.model ?? called.data<"model.called">(platform).model;
  return `${called.by} asked ${model === called.by ? "the model of that name" : model}`;
}

/** What a check found, by which command. */
function checkWords(node: Node, platform: Platform): string {
  const { name, passed, reason, score } = checkOf(node, platform);
  const commands = (actedOf(node, platform)?.commands ?? []).slice(-namedDecisions).map(({ command, exitCode }) => {
    const text = typeof command === "string" ? command : command.join(" ");
    return `${quoted(text)} ended with ${exitCode}`;
  });
  const ran = commands.length === 0 ? "" : `; ${commands.join(", ")}`;
  return `check ${nameWords(name)} ${passed ? "passed" : "failed"}${score === undefined ? "" : ` with ${score}`}${because(reason)}${ran}`;
}

function replyWords(node: Node, platform: Platform): string {
  const { parts, text } = messageOf(node, platform);
  const calls = parts.flatMap((part) => (part.type === "call" ? [nameWords(part.tool)] : []));
  const said = [...(text === "" ? [] : [`said ${quoted(text)}`]), ...(calls.length === 0 ? [] : [`called ${calls.join(", ")}`])];
  return `${node.by} ${said.length === 0 ? `answered: ${node.facts.outcome ?? "unknown"}` : said.join(" and ")}`;
}

function resultWords(node: Node, platform: Platform): string {
  const asked = callOf(node).data<"do.called">(platform) as
    | { readonly name?: string; readonly question?: string; readonly signal?: string; readonly input?: unknown }
    | undefined;
  // With what a person approved, where that is not what was asked for.
  const { input } = { ...asked, ...given(node.data<"tool.returned">(platform)) };
  const name = asked?.name ?? asked?.question ?? asked?.signal ?? node.kind.slice(0, node.kind.indexOf("."));
  const outcome = outcomeOf(node, platform);
  const changes = actedOf(node, platform)?.changes ?? [];
  const [first, ...others] = changes;
  const files =
    first === undefined ? "" : `, ${first.kind} ${nameWords(first.path)}${others.length === 0 ? "" : ` and ${others.length} more`}`;
  const text = outcomeText(outcome);
  const came = outcome.type === "ok" ? "" : ` (${outcome.type})`;
  return `${nameWords(name)}${input === undefined ? "" : ` ${valueWords(input)}`}${came}${files}${text === "" ? "" : `: ${quoted(text)}`}`;
}

function given(returned: { readonly input?: unknown } | undefined): { readonly input?: unknown } {
  return returned !== undefined && "input" in returned ? { input: returned.input } : {};
}

function recallWords(node: Node, platform: Platform): string {
  const { query, key } = callOf(node).data<"recall.called">(platform) ?? {};
  const { value, injected } = node.data<"recall.returned">(platform);
  const read = injected === undefined ? undefined : new Set(injected);
  const hits = ((value ?? []) as readonly MemoryHit[]).filter((hit) => read?.has(versionName(hit)) !== false);
  const found = hits.map(
    (hit) => `${nameWords(versionName(hit))} (${hit.trust}, score ${Number(hit.score.toPrecision(3))}) ${quoted(hit.content)}`,
  );
  return `${node.by} recalled ${quoted(query ?? key ?? "all")}: ${found.length === 0 ? "nothing" : found.join(", ")}`;
}

/** A memory, and where it comes from. */
export function itemWords(item: MemoryItem): string {
  const about = [`of a ${item.origin}`.replace("of a import", "of an import"), item.trust, ...(item.state === "staged" ? ["staged"] : [])];
  const what = item.content === "" && item.state === "retracted" ? because(item.reason) : `: ${quoted(item.content)}`;
  return `${nameWords(item.by)} ${item.state === "retracted" ? "forgot" : "remembered"} ${nameWords(versionName(item))} (${about.join(", ")})${what}`;
}

/** What became of a memory after it was written: what others wrote in its place, and the newest of what was decided about it. */
export function decisionWords(later: readonly MemoryRecord[]): readonly string[] {
  const written = later.filter(({ session, state }) => session !== undefined && state !== "retracted").length;
  const decided = later.flatMap(({ session, state, by, reason }) => {
    if (session !== undefined && state !== "retracted") return [];
    const done = state === "retracted" ? (session === undefined ? "retracted" : "forgotten") : "rolled back";
    return [`${done} by ${nameWords(by)}${because(reason)}`];
  });
  return [...(written === 0 ? [] : [`${counted(written, "newer version")}`]), ...decided.slice(-namedDecisions)];
}

function answerWords(node: Node, platform: Platform): string {
  const { approve, answer, input, reason, outcome, expired } = node.data<"answer.given">(platform);
  if (expired === true) return "nobody answered in time";
  const changed = approve === true && input !== undefined ? ` with ${valueWords(input)}` : "";
  if (approve !== undefined) return `${nameWords(node.by)} ${approve ? "approved" : "refused"} it${changed}${because(reason)}`;
  if (outcome !== undefined) return `${nameWords(node.by)} said what became of it${because(reason)}`;
  return `${nameWords(node.by)} answered ${valueWords(answer)}${because(reason)}`;
}

/** How much a model had before it. */
export function readWords(read: readonly Node[]): string {
  const kinds = { "message.added": "message", "model.returned": "reply", "tool.returned": "result", "recall.returned": "recall" } as const;
  const counts = new Map<string, number>();
  for (const { kind } of read) {
    const noun = kinds[kind as keyof typeof kinds] ?? (kind === "session.merged" ? "merge" : "summary");
    counts.set(noun, (counts.get(noun) ?? 0) + 1);
  }
  return counts.size === 0 ? "which read nothing" : `which read ${[...counts].map(([noun, number]) => counted(number, noun)).join(", ")}`;
}

function because(reason: string | undefined): string {
  return reason === undefined || reason === "" ? "" : `: ${quoted(reason)}`;
}

function valueWords(value: unknown): string {
  return typeof value === "string" ? quoted(value) : value === undefined ? "nothing" : cut(valueText(value));
}

/** What others wrote, in quotes. */
function quoted(text: string): string {
  return `"${cut(text)}"`;
}

/** A name that others gave. */
export function nameWords(name: string): string {
  return cut(name);
}

/** One line, without characters that move the cursor or turn the direction of text. */
function cut(text: string): string {
  const line = text
    .slice(0, longest * 4)
    .replaceAll(/\s+/gu, " ")
    .replaceAll(
      /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu,
      (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`,
    )
    .trim();
  return line.length <= longest ? line : `${line.slice(0, longest - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}
