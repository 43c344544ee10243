/** What is said of a call without a result: one answer for all screens. */
import type { Lineage } from "../lineage/lineage.ts";
import type { Tone } from "../parts/badge.tsx";

export type OpenCall = "waiting" | "under way" | "no result";

/** It is under way only while somebody executes it: a record alone may have been left in the middle of it. */
export function openCall(isWaiting: boolean, isAtWork: boolean): OpenCall {
  return isWaiting ? "waiting" : isAtWork ? "under way" : "no result";
}

export const openTones: Readonly<Record<OpenCall, Tone>> = { waiting: "warn", "under way": "accent", "no result": "quiet" };

/** The calls that wait, with what for. What was started and is unknown waits under the event that started it. */
export function kindsIn(
  lineage: Pick<Lineage, "rowOf" | "kind" | "callBehind">,
  items: readonly { readonly id: string; readonly kind: string }[],
): ReadonlyMap<number, string> {
  const kinds = new Map<number, string>();
  for (const { id, kind } of items) {
    const row = lineage.rowOf(id);
    if (row !== undefined) kinds.set(lineage.kind(row).endsWith(".started") ? lineage.callBehind(row) : row, kind);
  }
  return kinds;
}
