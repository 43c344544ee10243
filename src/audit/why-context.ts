/** Which events a model had before it when it was asked. */
import { type Chain, list, stateOf } from "../session/fold.ts";
import type { Node } from "../session/log.ts";
import type { Platform } from "../session/platform.ts";
import { compressionsOf } from "../session/remembered.ts";

/** What a model read, oldest first. */
export function readBy(called: Node, platform: Platform): readonly Node[] {
  return viewOf(stateOf(called.parent as Node).context, platform);
}

function viewOf(chain: Chain | undefined, platform: Platform): readonly Node[] {
  const nodes = list(chain);
  const from = Math.max(
    0,
    nodes.findLastIndex((node) => node.facts.alone === true),
  );
  let read: Node[] = [];
  for (const node of nodes.slice(from)) {
    if (node.kind !== "context.compressed" || node.erased) {
      read.push(node);
      continue;
    }
    const { policy, replacement } = node.data<"context.compressed">(platform);
    const gone = new Set(droppedBy(node, platform));
    if (policy === "full") read = nodes.slice(from, nodes.indexOf(node)).filter((one) => one.kind !== "context.compressed");
    else read = [...(replacement === undefined ? [] : [node]), ...read.filter((one) => !gone.has(one))];
  }
  return read;
}

/** What a compression made models read no longer. */
export function droppedBy(compressed: Node, platform: Platform): readonly Node[] {
  const own = compressionsOf(stateOf(compressed), platform).find(({ event }) => event === compressed.id);
  const dropped = new Set<string>(own?.dropped);
  return list(stateOf(compressed).context).filter(({ id }) => dropped.has(id));
}
