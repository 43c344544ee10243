/** An event in one line, as `log` shows it. A new kind does not compile until it has its words here. */
import type { DataOf, Event } from "../session/event.ts";
import type { Acted, Outcome } from "../session/session.ts";
import { textOfOutcome } from "../session/views.ts";
import { compressedLine, memoryLine } from "./memory-line.ts";
import { neutralJson } from "./neutral.ts";

/** Finds an event by id; undefined when it is not among those shown. */
export type FindEvent = (id: string) => Event | undefined;

export function eventLine(event: Event, find: FindEvent): string {
  if (event.data === undefined) return `${event.kind} [erased]`;
  switch (event.kind) {
    case "session.created":
      return event.data.title === undefined ? "session" : `session "${event.data.title}"`;
    case "session.forked": {
      const { label, implicit, nested } = event.data;
      return nested === true ? "nested work" : implicit === true ? "implicit fork" : `fork${label === undefined ? "" : ` "${label}"`}`;
    }
    case "session.detached":
      return `detached from ${event.data.from.session}`;
    case "session.imported":
      return `imported from ${event.data.format}: ${event.data.id}${event.data.interrupted === true ? ", interrupted" : ""}`;
    case "session.merged":
      return `${event.data.adopt === true ? "adopt the result" : `merge ${event.data.branches.length + 1} branches`}${because(event.data.reason)}`;
    case "session.rejected":
      return `rejected${because(event.data.reason)}`;
    case "message.added":
      return `${event.data.role}: ${textOf(event.data.parts)}`;
    case "note.added":
      return `note: ${event.data.text}`;
    case "record.linked":
      return `link ${event.data.system} ${event.data.id}`;
    case "placement.changed":
      return `placed in ${event.data.sandbox}`;
    case "workflow.entered":
      return `enter ${event.data.name}`;
    case "workflow.left":
      return "leave";
    case "agent.stopped":
      return `stopped: ${event.data.stop}${because(event.data.reason)}`;
    case "model.called":
      return `ask ${event.data.model}`;
    case "model.returned": {
      const calls = (event.data.parts ?? []).filter((part) => part.type === "call").map((part) => part.tool);
      const said = textOf(event.data.parts ?? []);
      const all = [said, calls.length === 0 ? "" : `calls ${calls.join(", ")}`].filter((part) => part !== "").join("; ");
      return `${event.data.model ?? nameOf(event, find)}${ended(event)}${all === "" ? "" : `: ${all}`}`;
    }
    case "context.compressed":
      return compressedLine(event);
    case "recall.called":
    case "recall.returned":
    case "remember.called":
    case "remember.returned":
    case "forget.called":
    case "forget.returned":
    case "memory.published":
      return memoryLine(event, callBehind(event, find));
    case "tool.called":
    case "do.called":
    case "check.called":
    case "ask.called":
    case "wait.called":
    case "receive.called":
    case "route.called":
      return `${opOf(event)} ${callName(event)}${inputOf(event)}`;
    case "tool.returned":
    case "do.returned":
    case "check.returned":
    case "ask.returned":
    case "wait.returned":
    case "receive.returned":
    case "route.returned":
      return `${opOf(event)} ${nameOf(event, find)}${changed(event)}${ended(event)}`;
    case "tool.started":
    case "do.started":
      return `${opOf(event)} starts`;
    case "run.started":
      return `run ${event.data.workflow} starts`;
    case "run.resumed":
      return `resumed by ${event.data.worker}`;
    case "run.asked":
      return `somebody is asked about ${event.data.pending}`;
    case "run.forked":
      return `goes on with other code, without ${event.data.left.reduce((sum, [from, to]) => sum + to - from + 1, 0)} recorded events`;
    case "run.parked":
      return `parked, ${event.data.pending.length} pending`;
    case "run.ended":
      return `run ${event.data.status}${because(event.data.message ?? event.data.reason)}`;
    case "run.spawned":
      return `run ${event.data.run} of "${event.data.workflow}" started`;
    case "run.signed":
      return `signed up to step ${event.data.statement.step}`;
    case "sandbox.opened":
      return `sandbox ${event.data.sandbox} ${event.data.id} opened`;
    case "sandbox.closed":
      return `sandbox ${event.data.id} closed${because(event.data.problem ?? event.data.reason)}`;
    case "workspace.captured":
      return `files of ${event.data.directory} taken`;
    case "budget.crossed":
      return `budget: ${event.data.spent} of ${event.data.of} ${event.data.limit}`;
    case "answer.given":
      return "answer";
    case "signal.sent":
      return `signal ${event.data.signal}${event.data.data === undefined ? "" : ` ${valueText(event.data.data)}`}`;
    case "data.erased":
      return erasedLine(event.data);
    default:
      return (event satisfies never as Event).kind;
  }
}

function erasedLine({ reason, events = [], blobs = [], memories = [], logs = [], done }: DataOf<"data.erased">): string {
  if (done !== undefined) return `erased: ${done.length} done`;
  const parts = [
    [events, "events"],
    [blobs, "blobs"],
    [memories, "memories"],
    [logs, "logs"],
  ] as const;
  const listed = parts.flatMap(([list, noun]) => (list.length === 0 ? [] : [`${list.length} ${noun}`]));
  return `erase ${listed.join(", ")}${because(reason)}`;
}

/** The call a result belongs to. */
export function callBehind(event: Event, find: FindEvent): Event | undefined {
  let call = find(event.facts.call ?? event.parents[0] ?? "");
  while (call?.kind.endsWith(".started") === true) call = find(call.facts.call ?? call.parents[0] ?? "");
  return call;
}

function nameOf(event: Event, find: FindEvent): string {
  const call = callBehind(event, find);
  return call === undefined ? "" : callName(call);
}

function callName({ kind, data }: Event): string {
  const {
    name,
    question,
    signal,
    until,
    for: span,
    model,
    candidates,
  } = (data ?? {}) as {
    readonly name?: string;
    readonly question?: string;
    readonly signal?: string;
    readonly until?: string;
    readonly for?: string;
    readonly model?: string;
    readonly candidates?: readonly { readonly name: string }[];
  };
  if (kind === "route.called") return (candidates ?? []).map((candidate) => candidate.name).join("|");
  return name ?? question ?? signal ?? until ?? span ?? model ?? "";
}

function inputOf({ data }: Event): string {
  const { input } = data as { readonly input?: unknown };
  return input === undefined ? "" : ` ${valueText(input)}`;
}

/** More are counted. */
const mostPaths = 3;

/** The files an effect changed, and where. */
function changed({ data }: Event): string {
  const { acted } = data as { readonly acted?: Pick<Acted, "sandbox" | "id" | "changes" | "omitted" | "discarded"> };
  if (acted === undefined || acted.changes.length === 0 || acted.discarded === true) return "";
  const more = acted.changes.length - mostPaths + (acted.omitted ?? 0);
  const paths = acted.changes.slice(0, mostPaths).map(({ path }) => path);
  return ` changed ${paths.join(", ")}${more > 0 ? ` and ${more} more` : ""} in ${acted.id ?? acted.sandbox}`;
}

/** What an effect came to. */
function ended(event: Event): string {
  const data = event.data as {
    readonly value?: unknown;
    readonly message?: string;
    readonly reason?: string;
    readonly passed?: boolean;
    readonly score?: number;
  };
  const { outcome = "ok" } = event.facts;
  if (event.kind === "model.returned") return outcome === "ok" ? "" : ` → ${outcome}${because(data.message ?? data.reason)}`;
  if (event.kind === "check.returned" && outcome === "ok")
    return ` → ${data.passed === true ? "passed" : "failed"}${data.score === undefined ? "" : ` (${data.score})`}${because(data.reason)}`;
  const value = data.value === undefined ? (data.message ?? data.reason) : valueText(data.value);
  return ` → ${outcome}${value === undefined ? "" : ` ${value}`}`;
}

/** A value as people read it: bytes and numbers that JSON has no words for stay what they are. */
export function valueText(value: unknown): string {
  return typeof value === "string" ? value : neutralJson(value);
}

/** What an effect came to, as people read it; nothing where it gave nothing. */
export function outcomeText(outcome: Outcome): string {
  if (outcome.type !== "ok") return textOfOutcome(outcome);
  return outcome.value === undefined ? "" : valueText(outcome.value);
}

function textOf(parts: readonly { readonly type: string; readonly text?: string | undefined }[]): string {
  return parts.flatMap((part) => (part.type === "call" ? [] : part.type === "text" ? [part.text ?? ""] : [`[${part.type}]`])).join("");
}

function because(reason: string | undefined): string {
  return reason === undefined || reason === "" ? "" : `: ${reason}`;
}

function opOf({ kind }: Event): string {
  return kind.slice(0, kind.indexOf("."));
}
