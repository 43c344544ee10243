/** What a model reads, in pieces that are kept or dropped whole: a reply and all results of its calls are one, everything else is one by itself. */
import type { View } from "../../session/context.ts";
import { callOf } from "../../session/fold.ts";
import type { Node } from "../../session/log.ts";
import type { RequestMessage } from "../../session/message.ts";
import type { Platform } from "../../session/platform.ts";
import { partsOf, renderedEvent, resultOf } from "../../session/render.ts";
import { tokensOfMessage } from "../../session/tokens.ts";
import type { ContextEntry } from "./policy.ts";

export interface Unit {
  readonly nodes: readonly Node[];
  /** An estimate. */
  readonly tokens: number;
  /** It has calls and their results. */
  readonly round: boolean;
  /** It stays whatever a policy says: what the system says, the newest message of a person, and the newest thing of all. */
  readonly pinned: boolean;
}

export function unitsOf(view: View, platform: Platform): readonly Unit[] {
  const units: Node[][] = [];
  for (const node of view.nodes) {
    const last = units.at(-1);
    if (node.kind === "tool.returned" && last !== undefined) last.push(node);
    else units.push([node]);
  }
  const asked = view.nodes.findLast((node) => node.kind === "message.added" && roleOf(node, platform) === "user");
  return units.map((nodes, index) => {
    const [first] = nodes as [Node];
    const pinned = index === units.length - 1 || first === asked || roleOf(first, platform) === "system";
    const tokens = nodes.reduce((sum, node) => sum + nodeTokens(node, view.cuts.get(node), platform), 0);
    return { nodes, tokens, round: first.kind === "model.returned" && nodes.length > 1, pinned };
  });
}

/** The same for a function that chooses among them. */
export function entriesOf(units: readonly Unit[], view: View, platform: Platform): readonly ContextEntry[] {
  return units.flatMap(({ nodes }, round) =>
    nodes.map((node) =>
      Object.freeze({
        event: node.id,
        role: roleOf(node, platform),
        text: textOf(node, view.cuts.get(node), platform),
        tokens: nodeTokens(node, view.cuts.get(node), platform),
        round,
      }),
    ),
  );
}

/** The text of a result as it is read now. */
export function resultText(node: Node, cut: number | undefined, platform: Platform): string {
  const { value } = resultOf(node, toolOf(node, platform), cut, platform);
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

/** How many pieces of reasoning some events hold. */
export function reasoningIn(nodes: Iterable<Node>, platform: Platform): number {
  let count = 0;
  for (const node of nodes)
    if (node.kind === "model.returned") count += partsOf(node, platform).filter(({ type }) => type === "reasoning").length;
  return count;
}

const counted = new WeakMap<Node, number>();

/** Counted once: what an event says does not change, unless it is cut. */
function nodeTokens(node: Node, cut: number | undefined, platform: Platform): number {
  const known = cut === undefined ? counted.get(node) : undefined;
  if (known !== undefined) return known;
  const tokens = messagesOfNode(node, cut, platform).reduce((sum, message) => sum + tokensOfMessage(message), 0);
  if (cut === undefined) counted.set(node, tokens);
  return tokens;
}

function messagesOfNode(node: Node, cut: number | undefined, platform: Platform): readonly RequestMessage[] {
  if (node.kind === "model.returned") return [{ role: "assistant", parts: partsOf(node, platform) }];
  if (node.kind !== "tool.returned") return renderedEvent(node, platform);
  // What code called is on record, and no model reads it.
  if (callOf(node).data<"tool.called">(platform)?.index === undefined) return [];
  const tool = toolOf(node, platform);
  return [{ role: "tool", results: [{ call: "", tool, ...resultOf(node, tool, cut, platform) }] }];
}

function textOf(node: Node, cut: number | undefined, platform: Platform): string {
  if (node.kind === "tool.returned") return resultText(node, cut, platform);
  const texts = messagesOfNode(node, cut, platform).map((message) => {
    if (message.role === "system") return message.text;
    if (message.role === "tool") return "";
    return message.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  });
  return texts.join("\n");
}

function toolOf(node: Node, platform: Platform): string {
  return callOf(node).data<"tool.called">(platform)?.name ?? "[erased]";
}

function roleOf(node: Node, platform: Platform): ContextEntry["role"] {
  if (node.kind === "model.returned") return "assistant";
  if (node.kind === "tool.returned") return "tool";
  if (node.kind !== "message.added") return "user";
  return node.data<"message.added">(platform)?.role ?? "user";
}
