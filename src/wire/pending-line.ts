/** What waits, and what was decided about it, in one line. */
import type { Decided, Pending } from "../session/session.ts";
import { valueText } from "./event-line.ts";

/** What somebody or something is waited for. */
export function pendingText(pending: Pending): string {
  switch (pending.kind) {
    case "question":
      return pending.question;
    case "approval":
      return `${pending.tool}${pending.input === undefined ? "" : ` ${valueText(pending.input)}`}`;
    case "unknown":
      return `${pending.op}: started, and nobody knows whether it happened`;
    case "signal":
      return `the signal ${pending.signal}`;
    case "timer":
      return `until ${pending.wakes}`;
    case "process":
      return `process ${pending.process} runs: ${pending.command}`;
    default:
      return pending satisfies never;
  }
}

/** What was said, in a word or as it was said. */
export function verdictText({ answer, approve, outcome, expired }: Omit<Decided, "pending">): string {
  if (expired === true) return "nobody answered in time";
  if (approve !== undefined) return approve ? "approved" : "denied";
  return valueText(outcome === undefined ? answer : outcome);
}

/** The same with the input that was approved, where that is not what was asked for. */
export function decidedText(decided: Omit<Decided, "pending">): string {
  return `${verdictText(decided)}${decided.input === undefined ? "" : ` with ${valueText(decided.input)}`}`;
}
