/** What a model reads of what was recalled. */
import { viewOf } from "./context.ts";
import type { State } from "./fold.ts";
import type { MemoryHit } from "./memory.ts";
import type { Platform } from "./platform.ts";

/** The versions that a model reads at a place, as "uri@version": not those that were compressed away, nor those before a message that stands alone. */
export function injectedAt({ context }: State, platform: Platform): ReadonlySet<string> {
  const found = new Set<string>();
  for (const node of viewOf(context, platform).nodes) {
    if (node.kind !== "recall.returned") continue;
    for (const item of node.data<"recall.returned">(platform)?.injected ?? []) found.add(item);
  }
  return found;
}

/** About how many tokens an item takes that is given to a model to read. */
export function tokensOfHit({ key, content }: MemoryHit): number {
  return Math.ceil((key.length + content.length) / 4) + 12;
}
