/** Sessions and what waits in them, in words. */
import { callOf, stateOf } from "../session/fold.ts";
import type { Pending, Session, StopReason } from "../session/session.ts";
import { placeOf } from "../session/value.ts";
import { count, money, plural } from "../wire/format.ts";
import type { Cli } from "./cli.ts";
import { shellWord } from "./shell-word.ts";
import { json, type Shown, toShown } from "./shown.ts";

/** Its title, else its label and the first thing said in it. */
export function whatOf(session: Session, title: string | undefined): string {
  const { label } = session.lineage;
  const said = title ?? session.messages[0]?.text ?? "";
  return label === undefined ? said : `${label}: ${said}`;
}

export function statusInk(cli: Cli, status: string): Shown {
  const { yellow, red, green, dim } = cli.ink;
  const paint = { waiting: yellow, failed: red, done: green, rejected: dim, cancelled: dim }[status];
  return paint === undefined ? toShown(status) : paint(status);
}

export function usageText({ input, output, cached, reasoning, usd }: Omit<Session["usage"], "own">): string {
  const parts = [`${count(input)} in`, `${count(output)} out`];
  if (cached > 0) parts.push(`${count(cached)} cached`);
  if (reasoning > 0) parts.push(`${count(reasoning)} reasoning`);
  return `${parts.join(", ")}, ${money(usd)}`;
}

/** The command that answers it. */
export function answerCommand(pending: Pending, id: string): string | undefined {
  switch (pending.kind) {
    case "question":
      return `openrath approvals answer ${id} "…"`;
    case "approval":
      return `openrath approvals approve ${id}`;
    case "unknown":
      return `openrath resolve ${id} with --ok JSON, --error "…" or --again`;
    case "signal":
      return pending.run === undefined ? undefined : `openrath send ${pending.run} ${shellWord(pending.signal)}`;
    case "timer":
    case "process":
      return undefined;
    default:
      return pending satisfies never;
  }
}

/** What a session came to: its output as text, or undefined when there is none. */
export function outputText(cli: Cli, session: Session): string | undefined {
  const output = outputOf(session);
  return output === undefined ? undefined : typeof output === "string" ? output : json(output, cli.onTerminal ? 2 : undefined).text;
}

export function outputOf(session: Session): unknown {
  try {
    return session.output;
  } catch {
    return undefined; // it has none: the session says why elsewhere
  }
}

/** Why the newest agent stopped before it had finished; undefined where it had. */
export function stopOf(session: Session): { readonly stop: StopReason; readonly reason: string | undefined } | undefined {
  const { node, context } = placeOf(session);
  const { stop, reason } = stateOf(node).stopped?.data<"agent.stopped">(context.host.platform) ?? {};
  return stop === undefined || stop === "finished" ? undefined : { stop, reason };
}

/** "error: the reason", or how it stopped alone. */
export function stopText({ stop, reason }: { readonly stop: StopReason; readonly reason: string | undefined }): string {
  if (reason === undefined || reason === "") return stop;
  return reason.startsWith(`${stop}:`) ? reason : `${stop}: ${reason}`;
}

/** What became of the newest effect, where it gave no result. */
export function failureOf(session: Session): string | undefined {
  const { node, context } = placeOf(session);
  const { platform } = context.host;
  const { output } = stateOf(node);
  const { outcome = "ok" } = output?.facts ?? {};
  if (output === undefined || outcome === "ok") return undefined;
  const { name } = (callOf(output).data(platform) ?? {}) as { readonly name?: string };
  const { message, reason } = (output.data(platform) ?? {}) as { readonly message?: string; readonly reason?: string };
  const said = message ?? reason;
  const op = output.kind.slice(0, output.kind.indexOf("."));
  return `${name === undefined ? op : `${op} ${name}`} → ${outcome}${said === undefined ? "" : ` ${said}`}`;
}

export function stepText(session: Session): string {
  return `step ${session.step}, ${plural(session.messages.length, "message")}`;
}
