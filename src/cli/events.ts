/** The events of a lineage, in an order in which nothing moves when more happens. */
import { branchesOf } from "../audit/branches.ts";
import { runtimeOf } from "../runtime/replay.ts";
import { type Event, isReturned, isStarted } from "../session/event.ts";
import type { Session } from "../session/session.ts";
import { callBehind } from "./event-line.ts";

/** Everything on every branch behind and beside a session, by time, parents first. */
export async function lineageEvents(session: Session): Promise<readonly Event[]> {
  const { platform } = runtimeOf(session);
  const nodes = (await branchesOf(session)).flatMap((branch) => branch.nodes);
  // An event is never earlier than its parents and always a step after them.
  nodes.sort((a, b) => compare(a.at, b.at) || a.step - b.step || a.order - b.order || compare(a.id, b.id));
  return nodes.map((node) => node.event(platform));
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

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
