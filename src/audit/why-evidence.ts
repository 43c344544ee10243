/** What of an event can be compared with the record, beside its id. */
import type { MemoryItem } from "../memory/memory.ts";
import { actedOf } from "../session/acted.ts";
import { isReturned } from "../session/event.ts";
import type { Node } from "../session/log.ts";
import type { Platform } from "../session/platform.ts";
import { stagedBy, versionName } from "../session/remembered.ts";
import type { WhyEvidence } from "../session/why.ts";

export function evidenceIn(node: Node, platform: Platform): WhyEvidence {
  if (node.erased) return {};
  switch (node.kind) {
    case "model.called":
      return { request: node.data<"model.called">(platform).request };
    case "recall.returned":
      return { memories: hitsRead(node, platform).map(versionName) };
    case "remember.returned":
    case "forget.returned": {
      const item = stagedBy(node, platform)?.item;
      return item === undefined ? {} : { memories: [versionName(item)] };
    }
    case "session.merged": {
      const { files } = node.data<"session.merged">(platform);
      return files === undefined ? {} : { trees: { after: files.tree } };
    }
    default: {
      const acted = isReturned(node.kind) ? actedOf(node, platform) : undefined;
      return acted === undefined ? {} : { trees: { before: acted.before, after: acted.after } };
    }
  }
}

/** What was recalled; of what is given to a model only that which it read. */
export function hitsRead(node: Node, platform: Platform): readonly MemoryItem[] {
  const data = node.data<"recall.returned">(platform);
  const injected = node.facts.injected === true ? new Set(data?.injected) : undefined;
  return ((data?.value ?? []) as readonly MemoryItem[]).filter((hit) => injected?.has(versionName(hit)) !== false);
}
