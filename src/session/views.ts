/** Views of single events: what a message, a check, a placement or something pending looks like to the user of a session. */
import { actedOf } from "./acted.ts";
import { durationMs } from "./duration.ts";
import { type CalledKind, type DataOf, type OutcomeType, opOf } from "./event.ts";
import { callOf, callUnder, type State } from "./fold.ts";
import type { Node } from "./log.ts";
import type { Content, Message, MessagePart, Outcome, Part, ReplyPart } from "./message.ts";
import type { Platform } from "./platform.ts";
import type { Check, Duration, Lineage, Pending, Placement, Route, SessionStatus, ToolCall } from "./session.ts";

const messages = new WeakMap<Node, Message>();

/** The message an event carries; made once, but for one with bytes, and once more when it was erased. */
export function messageOf(node: Node, platform: Platform): Message {
  // What was erased since is not said again.
  const known = node.erased ? undefined : messages.get(node);
  if (known !== undefined) return known;
  const { role, parts } = node.erased ? { role: roleOf(node), parts: [] } : spokenBy(node, platform);
  const message: Message = Object.freeze({
    role,
    parts: Object.freeze(parts),
    text: node.erased ? "[erased]" : parts.map(textOfPart).join(""),
    by: node.by,
    event: node.id,
    session: node.log.id,
  });
  // Bytes are not shared among those who read them.
  if (!node.hasBytes) messages.set(node, message);
  return message;
}

function roleOf(node: Node): Message["role"] {
  return node.kind === "model.returned" ? "assistant" : node.kind === "tool.returned" ? "tool" : "user";
}

function spokenBy(node: Node, platform: Platform): { readonly role: Message["role"]; readonly parts: readonly MessagePart[] } {
  switch (node.kind) {
    case "model.returned":
      return {
        role: "assistant",
        parts: (node.data<"model.returned">(platform).parts ?? []).map((part) => withoutMetadata(part as ReplyPart)),
      };
    case "tool.returned": {
      const tool = callOf(node).data<"tool.called">(platform)?.name ?? "[erased]";
      return { role: "tool", parts: [Object.freeze({ type: "result", tool, outcome: outcomeOf(node, platform) })] };
    }
    default: {
      const { role, parts } = node.data<"message.added">(platform);
      return { role, parts: parts.map(toPart) };
    }
  }
}

function withoutMetadata(part: ReplyPart): MessagePart {
  const { metadata: _, ...rest } = part;
  return Object.freeze(rest) as MessagePart;
}

function textOfPart(part: MessagePart): string {
  switch (part.type) {
    case "text":
      return part.text;
    case "result":
      return textOfOutcome(part.outcome);
    default:
      return "";
  }
}

/** What became of an effect, in words or as JSON. */
export function textOfOutcome(outcome: Outcome): string {
  switch (outcome.type) {
    case "ok":
      return typeof outcome.value === "string" ? outcome.value : (JSON.stringify(outcome.value) ?? "");
    case "error":
      return outcome.message;
    case "denied":
    case "cancelled":
      return outcome.reason;
    default:
      return outcome.type;
  }
}

/** What became of the effect that returned here. */
export function outcomeOf(returned: Node, platform: Platform): Outcome {
  return outcomeFrom(returned.facts.outcome, returned.data<"do.returned">(platform));
}

/** From the facts and the data of a result. */
export function outcomeFrom(
  type: OutcomeType = "unknown",
  data: { readonly value?: unknown; readonly message?: string | undefined; readonly reason?: string | undefined } | undefined,
): Outcome {
  switch (type) {
    case "ok":
      return { type, value: data?.value };
    case "error":
      return { type, message: data?.message ?? "" };
    case "denied":
    case "cancelled":
      return { type, reason: data?.reason ?? "" };
    default:
      return { type };
  }
}

/** A call of a tool and what it came to. */
export function toolCallOf(returned: Node, platform: Platform): ToolCall {
  const call = callOf(returned);
  const asked = call.data<"tool.called">(platform);
  const nested = returned.parents.find((parent) => parent.log !== returned.log);
  const acted = actedOf(returned, platform);
  const ran = returned.data<"tool.returned">(platform);
  const changed = ran !== undefined && "input" in ran;
  const failures = ran?.failures;
  return Object.freeze({
    id: call.id,
    event: returned.id,
    tool: asked?.name ?? "[erased]",
    input: changed ? ran.input : (asked?.input ?? asked?.raw),
    ...(changed ? { asked: asked?.input } : {}),
    outcome: Object.freeze(outcomeOf(returned, platform)),
    ...(failures === undefined ? {} : { failures }),
    changes: acted?.changes ?? Object.freeze([]),
    sandbox: acted?.id ?? acted?.sandbox,
    ...(acted === undefined ? {} : { acted }),
    session: nested?.log.id,
    by: call.by,
    step: call.step,
  });
}

/** A choice on record. */
export function routeOf(returned: Node, platform: Platform): Route {
  const asked = callOf(returned).data<"route.called">(platform);
  const chosen = returned.data<"route.returned">(platform)?.value as { readonly choice?: string; readonly reason?: string } | undefined;
  return Object.freeze({
    ...chosen,
    choice: chosen?.choice ?? "",
    candidates: Object.freeze((asked?.candidates ?? []).map((candidate) => candidate.name)),
    reason: chosen?.reason ?? "",
    event: returned.id,
  });
}

/** What an agent had said when it stopped. One that did not finish may have said nothing: an answer from before it is not its own. */
export function stoppedText(stopped: Node, said: Node | undefined, platform: Platform): string {
  if (stopped.data<"agent.stopped">(platform)?.stop !== "finished")
    for (let at: Node | undefined = stopped; at !== undefined && at !== said; at = at.prior)
      if (at.kind === "workflow.entered" && at.by === stopped.by) return "";
  return saidText(said, platform);
}

/** What a model said, without its reasoning. */
export function saidText(node: Node | undefined, platform: Platform): string {
  return node === undefined ? "" : messageOf(node, platform).text;
}

type StoredPart = {
  readonly type: string;
  readonly text?: string;
  readonly signature?: string | undefined;
  readonly mediaType?: string;
  readonly data?: Uint8Array | undefined;
  readonly url?: string | undefined;
};

function toPart(part: StoredPart): Part {
  if (part.type !== "file") return part as Part;
  return Object.freeze({
    type: "file",
    mediaType: part.mediaType ?? "application/octet-stream",
    data: part.data ?? new URL(part.url ?? "about:blank"),
  });
}

/** What is stored of what somebody says. */
export function toParts(content: Content): readonly Record<string, unknown>[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return content.map((part) => {
    if (part.type !== "file") return { ...part };
    return part.data instanceof URL
      ? { type: "file", mediaType: part.mediaType, url: part.data.href }
      : { type: "file", mediaType: part.mediaType, data: part.data };
  });
}

export function checkOf(returned: Node, platform: Platform): Check {
  const data = returned.data<"check.returned">(platform);
  const acted = actedOf(returned, platform);
  return Object.freeze({
    name: callOf(returned).data<"check.called">(platform)?.name ?? "[erased]",
    passed: returned.facts.outcome === "ok" && data?.passed === true,
    score: data?.score,
    reason: data?.reason ?? data?.message,
    ...(acted === undefined ? {} : { acted }),
    event: returned.id,
  });
}

/** Where tools act, and the sandbox that was newest opened for it. */
export function placementOf({ placement, acted }: State, platform: Platform): Placement | undefined {
  if (placement === undefined) return undefined;
  const { sandbox, spec } = placement.data<"placement.changed">(platform) ?? { sandbox: "[erased]", spec: {} };
  const newest = acted === undefined ? undefined : actedOf(acted, platform);
  return Object.freeze({ ...spec, sandbox, isolation: newest?.isolation, id: newest?.id });
}

/** What waits under a call, or under the mark that it was started after waiting. */
export function pendingOf(mark: Node, platform: Platform, call: Node = callUnder(mark)): Pending {
  const pending = shapeOf(mark, platform, call);
  steps.set(pending, call.step);
  return pending;
}

/** Where in its branch it was asked: calls of one batch have the same time. */
export function askedAt(pending: Pending): number {
  return steps.get(pending) ?? 0;
}

const steps = new WeakMap<Pending, number>();

function shapeOf(mark: Node, platform: Platform, call: Node): Pending {
  const base = { id: mark.id, run: call.run, session: call.log.id, since: call.at, by: call.by };
  switch (call.kind) {
    case "ask.called": {
      const { question, answer, to }: Partial<DataOf<"ask.called">> = call.data<"ask.called">(platform) ?? {};
      return {
        ...{ ...base, ...expiryOf(call, platform), ...(to === undefined ? {} : { to }) },
        ...{ kind: "question", question: question ?? "[erased]", answer: (answer ?? {}) as object },
      };
    }
    case "receive.called":
      return { ...base, ...expiryOf(call, platform), kind: "signal", signal: call.data<"receive.called">(platform)?.signal ?? "[erased]" };
    case "wait.called":
      return { ...base, kind: "timer", wakes: deadlineOf(call, platform) ?? call.at };
    case "do.called":
    case "tool.called": {
      const { name = "[erased]", input } = call.data<"tool.called">(platform) ?? {};
      return call.facts.started === true || mark !== call
        ? { ...base, kind: "unknown", op: name, input }
        : { ...base, ...expiryOf(call, platform), kind: "approval", tool: name, input };
    }
    default:
      return { ...base, kind: "unknown", op: call.data<"check.called">(platform)?.name ?? opOf(call.kind as CalledKind), input: undefined };
  }
}

function expiryOf(call: Node, platform: Platform): { readonly expires?: string } {
  const expires = deadlineOf(call, platform);
  return expires === undefined ? {} : { expires };
}

/** When a wait ends or a question, a receive or an approval expires: a given time, or so long after the call. */
export function deadlineOf(call: Node, platform: Platform): string | undefined {
  const data = call.data(platform) as { readonly until?: string; readonly for?: Duration; readonly expires?: Duration } | undefined;
  const duration = data?.for ?? data?.expires;
  return duration === undefined ? data?.until : new Date(Date.parse(call.at) + durationMs(duration)).toISOString();
}

export function statusOf(state: State, platform: Platform): SessionStatus {
  if (state.rejected !== undefined) return "rejected";
  if (state.open.length > 0) return "waiting";
  const { output } = state;
  if (output?.kind === "agent.stopped") {
    const stop = output.data<"agent.stopped">(platform)?.stop;
    return stop === "error" ? "failed" : stop === "cancelled" ? "cancelled" : "idle";
  }
  switch (output?.facts.outcome) {
    case "error":
    case "unknown":
      return "failed";
    case "cancelled":
      return "cancelled";
    default:
      return "idle";
  }
}

/** Where a place comes from: the newest merge in its own log, else how the log began. */
export function lineageOf(node: Node, platform: Platform): Lineage {
  let merged: Node | undefined = node;
  while (merged !== undefined && merged.kind !== "session.merged") merged = merged.prior;
  const first = node.log.first ?? node;
  const label = node.log.fork?.label;
  const rest = { label: label === "" ? undefined : label, implicit: node.log.fork?.implicit ?? false };
  const ids = (nodes: readonly Node[]): readonly string[] => nodes.map((parent) => parent.id);
  if (merged !== undefined) return { kind: "merge", parents: ids(merged.parents), ...rest };
  if (first.kind === "session.forked") return { kind: "fork", parents: ids(first.parents), ...rest };
  if (first.kind === "session.detached") return { kind: "detach", parents: [first.data<"session.detached">(platform).from.head], ...rest };
  return { kind: first.kind === "session.imported" ? "import" : "root", parents: [], ...rest };
}
