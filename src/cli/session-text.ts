/** Sessions and what waits in them, in words. */
import type { Pending, Session } from "../session/session.ts";
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

export function stepText(session: Session): string {
  return `step ${session.step}, ${plural(session.messages.length, "message")}`;
}
