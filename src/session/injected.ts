/** What a model reads of what was recalled. */
import { viewOf } from "./context.ts";
import { callOf, list, type State } from "./fold.ts";
import type { MemoryHit } from "./memory.ts";
import type { Platform } from "./platform.ts";
import { tokensOf } from "./tokens.ts";

/** The versions that a model reads at a place, as "uri@version": not those that were compressed away. */
export function injectedAt({ context, reads }: State, platform: Platform): ReadonlySet<string> {
  const found = new Set<string>();
  if (reads === undefined) return found;
  const shown = new Set<unknown>();
  for (const node of viewOf(context, platform).nodes) {
    // What was recalled inside a tool stands in the result of its call.
    if (node.kind === "tool.returned" && node.parents.length > 1) shown.add(callOf(node).id);
    if (node.kind === "recall.returned") shown.add(node);
  }
  for (const node of list(reads)) {
    const scope = node.log.fork?.scope;
    if (!shown.has(node) && !(scope !== undefined && "call" in scope && shown.has(scope.call))) continue;
    for (const item of node.data<"recall.returned">(platform)?.injected ?? []) found.add(item);
  }
  return found;
}

/** One item as a model reads it: as JSON, so that no content can end the marking around it. */
export function injectedLine({ key, trust, content }: MemoryHit): string {
  return JSON.stringify({ key, trust, content });
}

/** About how many tokens an item takes that is given to a model to read. */
export function tokensOfHit(hit: MemoryHit): number {
  return tokensOf(injectedLine(hit));
}
