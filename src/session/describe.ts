/** A session in a few lines, for `String(session)` and `console.log`. */
import { counted } from "./counted.ts";
import { isCalled } from "./event.ts";
import { callOf, stateOf } from "./fold.ts";
import type { Node } from "./log.ts";
import type { Platform } from "./platform.ts";
import { versionName } from "./remembered.ts";
import type { Session } from "./session.ts";
import { saidText } from "./views.ts";

const shown = 6;

export function describeSession(session: Session, node: Node, platform: Platform): string {
  const state = stateOf(node);
  const { label } = session.lineage;
  const title = node.log.about.title ?? session.messages[0]?.text;
  const facts = [`step ${session.step}`, session.status];
  const { usage } = state;
  if (usage.input + usage.output > 0) facts.push(counted(usage.input + usage.output, "token"), `$${usage.usd.toFixed(4)}`);
  const head = `Session ${session.id.slice(0, 13)}${label === undefined ? "" : ` (${label})`}${title === undefined ? "" : ` "${clip(title, 48)}"`} · ${facts.join(" · ")}`;
  const lines: string[] = [];
  let at: Node | undefined = node;
  while (at !== undefined && lines.length < shown) {
    const line = describeEvent(at, platform);
    if (line !== undefined) lines.push(`${String(at.step).padStart(5)} ${line}`);
    at = at.parent;
  }
  if (at !== undefined) lines.push(`      … ${at.step} earlier`);
  return [head, ...lines.reverse()].join("\n");
}

/** One line for an event that says something; undefined for mere bookkeeping. */
function describeEvent(node: Node, platform: Platform): string | undefined {
  if (node.erased) return `${node.kind} [erased]`;
  const data = node.data(platform) as Record<string, unknown>;
  if (isCalled(node.kind)) return undefined;
  switch (node.kind) {
    case "message.added":
      return `${data["role"]}: ${clip((data["parts"] as { text?: string; type: string }[]).map((part) => part.text ?? `[${part.type}]`).join(""), 64)}`;
    case "session.forked":
      return `fork ${data["label"] ?? (data["implicit"] ? "(implicit)" : "")}`.trimEnd();
    case "session.rejected":
    case "note.added":
      return `${node.kind === "note.added" ? "note" : "rejected"}: ${clip(String(data["reason"] ?? data["text"]), 64)}`;
    case "workflow.entered":
      return `enter ${data["name"]}`;
    case "model.returned":
      return `${node.by}: ${clip(saidText(node, platform) || asks(data), 64)}`;
    case "agent.stopped":
      return data["stop"] === "finished"
        ? undefined
        : `stopped: ${data["stop"]}${data["reason"] === undefined ? "" : ` (${clip(String(data["reason"]), 64)})`}`;
    case "workflow.left":
      return undefined;
    case "recall.returned":
    case "remember.returned":
    case "forget.returned":
      return describeMemory(node, platform);
    case "context.compressed": {
      const { policy, tokens } = node.data<"context.compressed">(platform);
      return `context: ${policy}, ${tokens.before} to ${tokens.after} tokens`;
    }
    case "do.returned":
    case "tool.returned":
    case "route.returned":
    case "ask.returned":
    case "check.returned":
    case "receive.returned":
    case "wait.returned": {
      const call = callOf(node).data<"do.called">(platform) as Record<string, unknown> | undefined;
      const name = call?.["name"] ?? call?.["question"] ?? call?.["signal"] ?? "";
      const verdict =
        node.kind === "check.returned" && node.facts.outcome === "ok" ? (data["passed"] ? "passed" : "failed") : node.facts.outcome;
      const value = data["value"] === undefined ? (data["message"] ?? data["reason"] ?? "") : show(data["value"]);
      return `${node.kind.slice(0, node.kind.indexOf("."))} ${clip(String(name), 40)} → ${verdict}${value === "" ? "" : ` ${clip(String(value), 48)}`}`;
    }
    default:
      return node.kind;
  }
}

/** What was looked for and how much was found, or what was written. */
function describeMemory(node: Node, platform: Platform): string {
  const asked = callOf(node).data<"recall.called">(platform);
  const { value, item, message, reason } = node.data<"recall.returned">(platform) as {
    readonly value?: readonly unknown[];
    readonly item?: { readonly uri: string; readonly version: number };
    readonly message?: string;
    readonly reason?: string;
  };
  const verb = node.kind.slice(0, node.kind.indexOf("."));
  const name = clip(item === undefined ? (asked?.query ?? asked?.key ?? "") : versionName(item), 48);
  if (node.facts.outcome !== "ok") return `${verb} ${name} → ${node.facts.outcome} ${clip(message ?? reason ?? "", 48)}`.trimEnd();
  return value === undefined ? `${verb} ${name}` : `${verb} ${name} → ${value.length} found`;
}

/** The tools a reply without text calls. */
function asks(data: Record<string, unknown>): string {
  const parts = (data["parts"] ?? []) as { readonly type: string; readonly tool?: string }[];
  const calls = parts.filter((part) => part.type === "call").map((part) => part.tool);
  return calls.length > 0 ? `calls ${calls.join(", ")}` : String(data["message"] ?? data["reason"] ?? "");
}

/** Like JSON, with what JSON cannot say. */
function show(value: unknown): string {
  const text = JSON.stringify(value, (_, inner: unknown) => {
    // Of what is long a beginning is shown.
    if (typeof inner === "string") return inner.slice(0, longest);
    if (inner instanceof Uint8Array) return `<${counted(inner.length, "byte")}>`;
    return typeof inner === "number" && (!Number.isFinite(inner) || Object.is(inner, -0))
      ? `<${Object.is(inner, -0) ? "-0" : inner}>`
      : inner;
  });
  return text.replace(/"(<(?:\d+ bytes?|-0|NaN|-?Infinity)>)"/g, (_, inner: string) => inner.slice(1, -1));
}

/** More than any line shows, however much of it is space. */
const longest = 1000;

function clip(text: string, length: number): string {
  const line = text.slice(0, longest).replace(/\s+/g, " ").trim();
  return line.length <= length ? line : `${line.slice(0, length - 1)}…`;
}
