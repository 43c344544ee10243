/** The events of a lineage, in an order in which nothing moves when more happens. */

import { runtimeOf } from "../runtime/replay.ts";
import { type Event, isCalled, isReturned, isStarted } from "../session/event.ts";
import type { Node } from "../session/log.ts";
import type { Platform } from "../session/platform.ts";
import type { Session } from "../session/session.ts";
import { callBehind } from "../wire/event-line.ts";
import { type Branch, branchesOf, compare } from "./branches.ts";

/** Everything on every branch behind and beside a session, in the order in which it happened, parents first. */
export async function lineageEvents(session: Session): Promise<readonly Event[]> {
  return eventsOf(await branchesOf(session), runtimeOf(session).platform);
}

/** The same of branches that are known already. */
export function eventsOf(branches: readonly Branch[], platform: Platform): readonly Event[] {
  return inOrder(branches).map((node) => node.event(platform));
}

/** Without reading what the events say. */
export function inOrder(branches: readonly Branch[]): readonly Node[] {
  const nodes = branches.flatMap((branch) => branch.nodes);
  const times = happened(nodes);
  const timeOf = (node: Node): string => times.get(node) ?? node.at;
  // An event is always a step after its parents, and happened no earlier.
  return nodes.sort((a, b) => compare(timeOf(a), timeOf(b)) || a.step - b.step || a.order - b.order || compare(a.id, b.id));
}

/**
 * Forks, messages and the like carry the time of what they follow. They happened when the first thing was done that follows them.
 * An effect read the clock itself, even where the clock showed what it showed before.
 */
function happened(nodes: readonly Node[]): ReadonlyMap<Node, string> {
  const times = new Map<Node, string>();
  const first = new Map<Node, string>();
  for (const node of [...nodes].sort((a, b) => b.step - a.step)) {
    const read = isCalled(node.kind) || isStarted(node.kind) || isReturned(node.kind);
    const inherited = !read && node.parents.some((parent) => parent.at === node.at);
    const time = inherited ? (first.get(node) ?? (node.kind === "session.forked" ? "9999" : node.at)) : node.at;
    times.set(node, time);
    for (const parent of node.parents) if (compare(time, first.get(parent) ?? "9999") <= 0) first.set(parent, time);
  }
  return times;
}

/** Calls and starts that have a result are left out; what hung on them hangs on what was before them. */
export function folded(events: readonly Event[]): readonly Event[] {
  const byId = new Map(events.map((event) => [event.id as string, event]));
  const answered = new Set<string>();
  for (const event of events) {
    const call = isReturned(event.kind) ? callBehind(event, (id) => byId.get(id)) : undefined;
    if (call !== undefined) answered.add(call.id);
  }
  const left = (event: Event | undefined): boolean =>
    event !== undefined &&
    (answered.has(event.id) || (isStarted(event.kind) && answered.has(callBehind(event, (id) => byId.get(id))?.id ?? "")));
  const visible = (id: string): string => {
    let event = byId.get(id);
    while (event !== undefined && left(event)) event = byId.get(event.parents[0] ?? "");
    return event?.id ?? id;
  };
  return events.flatMap((event) => (left(event) ? [] : [{ ...event, parents: [...new Set(event.parents.map(visible))] } as Event]));
}
