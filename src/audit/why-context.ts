/** Which events a model had before it when it was asked. */
import { inRanges, viewOf } from "../session/context.ts";
import { stateOf } from "../session/fold.ts";
import type { Node } from "../session/log.ts";
import type { Platform } from "../session/platform.ts";

/** What a model read, oldest first; a compression stands for what it replaced. */
export function readBy(called: Node, platform: Platform): readonly Node[] {
  return viewOf(stateOf(called.parent as Node).context, platform).nodes;
}

/** What a compression made models read no longer. */
export function droppedBy(compressed: Node, platform: Platform): readonly Node[] {
  const data = compressed.data<"context.compressed">(platform);
  if (data === undefined) return [];
  return inRanges(viewOf(stateOf(compressed.parent as Node).context, platform).nodes, data.dropped);
}
