/** What became of things remembered when their runs returned: a write itself only says that it was staged. */
import type { DataOf } from "../session/event.ts";

/** What became of one write. */
export type Fate =
  | { readonly state: "published"; readonly revision: number }
  | { readonly state: "held"; readonly reason: string }
  /** Others wrote this version meanwhile. */
  | { readonly state: "refused"; readonly current: number };

/** By the call that wrote it. The newest that was said of it holds. */
export function memoryFates(published: Iterable<DataOf<"memory.published">>): ReadonlyMap<string, Fate> {
  const fates = new Map<string, Fate>();
  for (const { items, held = [], refused = [], revision } of published) {
    for (const { event } of items) fates.set(event, { state: "published", revision });
    for (const { event, reason } of held) fates.set(event, { state: "held", reason });
    for (const { event, current } of refused) fates.set(event, { state: "refused", current });
  }
  return fates;
}
