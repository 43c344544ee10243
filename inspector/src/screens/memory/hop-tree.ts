/** What led to a memory: each hop under the first one it explains, with how deep that is. */
import type { WhyResource } from "../../../../src/client/client.ts";

export type Hop = WhyResource["hops"][number];

export interface PlacedHop {
  readonly hop: Hop;
  readonly index: number;
  readonly depth: number;
}

export function inTree(hops: readonly Hop[]): readonly PlacedHop[] {
  const under = new Map<number, number[]>();
  for (const [index, { explains }] of hops.entries()) {
    // What was asked about may itself have led to something later on.
    const above = explains[0] === undefined || explains[0] >= index ? -1 : explains[0];
    const below = under.get(above);
    if (below === undefined) under.set(above, [index]);
    else below.push(index);
  }
  const placed: PlacedHop[] = [];
  const waiting = (under.get(-1) ?? []).map((index) => ({ index, depth: 0 })).reverse();
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { index, depth } = next;
    placed.push({ hop: hops[index] as Hop, index, depth });
    for (const below of (under.get(index) ?? []).toReversed()) waiting.push({ index: below, depth: depth + 1 });
  }
  return placed;
}

/** How what a hop explains is related to it, in words. That something was read before is never said to be the cause. */
const relationWords: Readonly<Record<string, string>> = {
  wrote: "written by",
  justified: "justified by",
  decided: "decided by",
  called: "called by",
  merged: "merged by",
  began: "begun by",
  judged: "judged by",
  sent: "sent by",
  spent: "spent by",
  approved: "approved by",
  compressed: "compressed by",
  captured: "taken from",
};

export function relationText({ hop: { relation, event }, depth }: Pick<PlacedHop, "hop" | "depth">): string {
  // Other memories are evidence as they were read, whoever wrote them.
  if (relation === "wrote" && depth > 0 && /^(?:remember|forget)\./.test(event.kind)) return "was read before, written by";
  return relationWords[relation] ?? relation.replaceAll("-", " ");
}
