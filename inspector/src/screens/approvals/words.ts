/** What is asked and how much hangs on it, in words. */
import type { PendingDetail, PendingResource } from "../../../../src/client/client.ts";
import type { ForPeople } from "./waiting.ts";

export const kindWords: Readonly<Record<ForPeople["kind"], string>> = {
  approval: "Approval",
  question: "Question",
  unknown: "Unknown effect",
};

/** What it is about: the name of a tool or an effect, or the question. */
export function subjectOf(pending: PendingResource): string {
  switch (pending.kind) {
    case "approval":
      return pending.tool;
    case "question":
      return pending.question;
    case "unknown":
      return pending.op;
    case "timer":
      return `until ${pending.wakes}`;
    case "signal":
      return pending.signal;
    case "process":
      return pending.command;
    default:
      return pending satisfies never;
  }
}

/** What a call says about itself on record, beside its name and input. */
interface Called {
  readonly repeat?: unknown;
  readonly approval?: unknown;
  readonly index?: unknown;
}

export function calledOf({ call }: PendingDetail): Called {
  return (call["data"] ?? {}) as Called;
}

/** Why a person has to say yes. */
export function ruleWords({ approval }: Called): string {
  if (approval === "policy") return "A policy of the project wants a yes for it.";
  if (approval === "agent") return "The agent may not call it without a yes.";
  if (approval === "tool") return "The tool itself wants a yes.";
  return "Somebody has to say yes before it runs.";
}

/** What a crash may do to it. */
export function repeatWords({ repeat }: Called): string {
  switch (repeat) {
    case "safe":
      return "Safe to repeat: after a crash it is run again by itself.";
    case "keyed":
      return "Repeated with the same key: the other side takes it once.";
    case "once":
      return "Happens once: it acts on the world and cannot be taken back by running it again.";
    case "nested":
      return "Entered again: what happened inside is taken from the record.";
    default:
      return "Nothing is recorded about what a crash may do to it.";
  }
}

export type Risk = "low" | "medium" | "high";

/** How much care it asks for: what acts on the world once is more than what can be repeated. */
export function riskOf({ repeat }: Called, changesFiles: boolean): Risk {
  if (repeat === "once") return changesFiles ? "medium" : "high";
  if (repeat === "keyed") return "medium";
  return changesFiles ? "medium" : "low";
}
