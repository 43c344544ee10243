/**
 * What text can be trusted, judged by where it came from. Text of people and of the program is trusted; text of tools and of user
 * code that reaches outside is not, and neither is what a model wrote after reading any. Nothing on the way raises it again.
 */
import { callOf, stateOf } from "./fold.ts";
import { isAncestor, type Node } from "./log.ts";
import type { MemoryOrigin, Trust } from "./memory.ts";
import type { Platform } from "./platform.ts";
import { stagedBy } from "./remembered.ts";

export function lowest(trusts: Iterable<Trust>): Trust {
  for (const trust of trusts) if (trust === "untrusted") return trust;
  return "trusted";
}

/** Of everything that a model reads at a place. */
export function trustAt(node: Node): Trust {
  return stateOf(node).tainted === undefined ? "trusted" : "untrusted";
}

/** Of the newest output, where nothing was said since: a program that remembers then remembers that. */
export function trustOfOutput(node: Node, platform: Platform): Trust {
  const { output, talk } = stateOf(node);
  if (output === undefined || (talk !== undefined && isAncestor(output, talk.node))) return "trusted";
  return trustOf(output, platform);
}

/** Work that read nothing from outside, and whose output is no text of the outside either. */
export function isTrustedWork(head: Node, platform: Platform): boolean {
  const { tainted, output } = stateOf(head);
  return tainted === undefined && (output === undefined || trustOf(output, platform) === "trusted");
}

/** Of what one event says. */
export function trustOf(node: Node, platform: Platform): Trust {
  switch (node.kind) {
    case "message.added":
      return isComposed(node) ? trustAt(node) : "trusted";
    case "session.created":
    case "ask.called":
    case "ask.returned":
    case "answer.given":
      return "trusted";
    case "session.imported":
    case "do.returned":
    case "do.called":
    case "do.started":
    case "tool.called":
    case "tool.started":
    // Whoever may send may send anything.
    case "receive.called":
    case "receive.returned":
    case "signal.sent":
      return "untrusted";
    case "tool.returned":
      return node.facts.trusted === true ? trustAt(callOf(node)) : "untrusted";
    case "model.returned":
      return node.facts.outside === true ? "untrusted" : trustAt(callOf(node));
    case "recall.returned":
      return lowest((node.data<"recall.returned">(platform)?.value ?? []).map(({ trust }) => trust));
    case "remember.returned":
      return stagedBy(node, platform)?.item.trust ?? "untrusted";
    case "remember.called":
    case "recall.called":
      // What came of it is not known from here.
      return "untrusted";
    default:
      return trustAt(node);
  }
}

/** A message that no person said: a model's task for another one, or what work inside an effect was told. It is as good as what is read there. */
function isComposed(node: Node): boolean {
  const scope = node.log.fork?.scope;
  return node.facts.alone === true || node.facts.outside === true || (scope !== undefined && "call" in scope);
}

/** What kind of source an event is. */
export function originOf(node: Node, platform: Platform): MemoryOrigin {
  const failed = node.facts.outcome !== undefined && node.facts.outcome !== "ok";
  switch (node.kind) {
    case "session.imported":
      return "import";
    case "message.added":
      return isComposed(node) ? "model" : "human";
    case "ask.called":
    case "ask.returned":
    case "answer.given":
      return "human";
    case "check.called":
    case "check.returned":
      return node.kind === "check.returned" && (failed || node.data<"check.returned">(platform)?.passed !== true)
        ? "failure"
        : "validation";
    case "session.rejected":
      return "failure";
    case "tool.called":
    case "tool.started":
    case "tool.returned":
    case "do.called":
    case "do.started":
    case "do.returned":
    case "receive.called":
    case "receive.returned":
    case "signal.sent":
      return failed ? "failure" : "tool";
    case "remember.returned":
      return stagedBy(node, platform)?.item.origin ?? "model";
    case "recall.returned":
      return (node.data<"recall.returned">(platform)?.value ?? [])[0]?.origin ?? "model";
    default:
      return "model";
  }
}
