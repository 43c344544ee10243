/** What a model reads of what was recalled. */
import type { Chain, State } from "./fold.ts";
import type { MemoryHit } from "./memory.ts";
import type { Platform } from "./platform.ts";

/** The versions that a model reads at a place, as "uri@version". */
export function injectedAt({ context }: State, platform: Platform): ReadonlySet<string> {
  const found = new Set<string>();
  for (let at: Chain | undefined = context; at !== undefined && at.node.kind !== "context.compressed"; at = at.before) {
    if (at.node.kind !== "recall.returned") continue;
    for (const item of at.node.data<"recall.returned">(platform)?.injected ?? []) found.add(item);
  }
  return found;
}

/** About how many tokens an item takes that is given to a model to read. */
export function tokensOfHit({ key, content }: MemoryHit): number {
  return Math.ceil((key.length + content.length) / 4) + 12;
}
