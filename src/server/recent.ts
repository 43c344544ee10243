/**
 * What was looked at last stays in memory: to read the events of a session takes long when they are many. A place keeps everything
 * behind it, so that what is kept is counted in steps.
 */
import type { Runtime } from "../runtime/runtime.ts";
import type { Node } from "../session/log.ts";

const mostSteps = 50_000;

interface Kept {
  /** By log, the longest unused first. */
  readonly places: Map<string, Node>;
  steps: number;
}

const kept = new WeakMap<Runtime, Kept>();

export function keepRecent(runtime: Runtime, node: Node): void {
  const { id } = node.log;
  const recent = kept.get(runtime) ?? { places: new Map(), steps: 0 };
  kept.set(runtime, recent);
  const { places } = recent;
  const before = places.get(id);
  if (node.step > mostSteps && before === undefined) return;
  places.delete(id);
  places.set(id, node);
  recent.steps += node.step - (before?.step ?? 0);
  for (const [oldest, { step }] of places) {
    if (recent.steps <= mostSteps) break;
    places.delete(oldest);
    recent.steps -= step;
  }
}
