/**
 * What happened, apart from who, when and under which ids: the digest that replay, rerun and diff compare. It covers kind,
 * version, outcome and data, with event ids replaced by what they name; it is computed from contents and never stored.
 */
import type { Node } from "./log.ts";
import type { Platform } from "./platform.ts";

/** Remembers digests of places; a caller may seed it, so that one place counts as another. */
export type Whats = Map<Node, string>;

/** Digest of an event and everything before it. */
export function whatOf(node: Node, platform: Platform, text: (node: Node) => string, known: Whats): string {
  const waiting: Node[] = [node];
  for (let next = waiting.at(-1); next !== undefined; next = waiting.at(-1)) {
    const before = next.log.origin !== undefined && next.prior === undefined ? [next.log.origin] : next.parents;
    const missing = known.has(next) ? [] : before.filter((parent) => !known.has(parent));
    if (missing.length > 0) waiting.push(...missing);
    else {
      waiting.pop();
      // That an effect had to wait before it started changes nothing about what happened.
      if (next.kind === "do.started") known.set(next, known.get(next.parent as Node) as string);
      else if (!known.has(next))
        known.set(next, platform.sha256(JSON.stringify([...contentOf(next, platform, text), before.map((parent) => known.get(parent))])));
    }
  }
  return known.get(node) as string;
}

/** What an event says by itself: kind, version, outcome and data without ids. */
function contentOf(node: Node, platform: Platform, text: (node: Node) => string): readonly unknown[] {
  return [node.kind, node.version, node.facts.outcome ?? "", dataOf(node, platform, text)];
}

/** Data whose ids are named by the parents instead. */
function dataOf(node: Node, platform: Platform, text: (node: Node) => string): unknown {
  if (node.erased) return "erased";
  switch (node.kind) {
    case "session.forked": {
      const { label, implicit, nested } = node.data<"session.forked">(platform);
      return [label ?? "", implicit ?? false, nested ?? false];
    }
    case "session.merged": {
      const { adopt, reason, context } = node.data<"session.merged">(platform);
      return [adopt ?? false, reason ?? "", JSON.stringify(context)];
    }
    case "workflow.entered":
    case "session.created":
    case "session.detached":
    case "workflow.left":
      return "";
    case "ask.returned":
    case "do.returned": {
      const data = node.data<"do.returned">(platform);
      if (data.answer === undefined) return text(node);
      const { answer: _, ...rest } = data;
      return JSON.stringify(rest);
    }
    default:
      return text(node);
  }
}
