/** Steps from an event back to what led to it, and what every part of the search needs. */
import type { MemoryItem } from "../memory/memory.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { callOf, list, stateOf } from "../session/fold.ts";
import { isAncestor, type Node } from "../session/log.ts";
import type { WhyEvidence, WhyHop } from "../session/why.ts";
import type { EventFinder } from "./find-event.ts";

/** One step back; what is a leaf is named and not followed. */
export interface Step {
  readonly relation: WhyHop["relation"];
  readonly node: Node;
  /** In place of what is said of every event of its kind. */
  readonly words?: string | undefined;
  readonly leaf?: boolean | undefined;
  /** The memory that the event wrote. */
  readonly item?: MemoryItem | undefined;
  /** Beside what the event itself shows. */
  readonly evidence?: WhyEvidence | undefined;
  /** What led to it that the event does not know: followed whether it is a leaf or not. */
  readonly next?: readonly Step[] | undefined;
}

export interface Tracing {
  readonly runtime: Runtime;
  readonly finder: EventFinder;
  /** The words that are asked about: what has them too is followed farther. */
  readonly words?: string | undefined;
  /** Nobody waits for the answer any more. */
  readonly signal?: AbortSignal | undefined;
  /** Where they stand in what was looked at already. */
  readonly places: Map<Node, number>;
}

export function stepTo(relation: Step["relation"], node: Node, more?: Omit<Step, "relation" | "node">): Step {
  return { relation, node, ...more };
}

/** What work inside an effect said last, and what it recalled: that is what its result was made of. */
export function inside(node: Node): readonly Step[] {
  return node.parents.slice(1).flatMap((end) => {
    const { said } = stateOf(end);
    const own = said !== undefined && !isAncestor(said, callOf(node)) ? [stepTo("wrote", said)] : [];
    return [...own, ...recalledInside(node)];
  });
}

export function recalledInside(node: Node): readonly Step[] {
  if (node.kind !== "tool.returned" || node.parents.length < 2) return [];
  const call = callOf(node);
  const reads = node.parents.slice(1).flatMap((end) => list(stateOf(end).reads).filter((read) => !isAncestor(read, call)));
  return reads.map((read) => stepTo("was-in-context", read));
}
