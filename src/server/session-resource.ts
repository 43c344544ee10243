/** Sessions and events as calls are answered with them. */
import type { Event } from "../session/event.ts";
import { stateOf } from "../session/fold.ts";
import { type Node, principalOf } from "../session/log.ts";
import type { Session } from "../session/session.ts";
import { placeOf } from "../session/value.ts";
import type { EventIndex } from "../wire/api/event.ts";
import type { SessionResource } from "../wire/api/session.ts";

const mostAgents = 20;
const mostOfBeginning = 120;
const stepsOfBeginning = 20;

/** What a list says of a session. */
export function summaryOf(session: Session) {
  const { node } = placeOf(session);
  const { id, head, step, status, usage, lineage, pending } = session;
  const { title, tags = [] } = node.log.about;
  const principal = principalOf(node);
  const parent = node.log.first?.parent?.log.id;
  return {
    ...{ id, head, step, status, usage, lineage, waiting: pending.length, tags },
    ...(title === undefined ? {} : { title }),
    ...(title === undefined ? beginningOf(session) : {}),
    ...(principal === undefined ? {} : { principal }),
    ...(parent === undefined ? {} : { parent }),
    created: (node.log.first ?? node).at,
    changed: node.at,
    events: node.seq + 1,
    agents: Object.keys(stateOf(node).turns).slice(0, mostAgents),
  };
}

/** What to call one that nobody gave a title. Looked for at its beginning alone, however long it is. */
function beginningOf(session: Session): { readonly begins?: string } {
  const text = session.at(Math.min(session.step, stepsOfBeginning)).messages[0]?.text.trim() ?? "";
  // By whole characters: half of one is no text.
  return text === "" ? {} : { begins: [...text.slice(0, 2 * mostOfBeginning)].slice(0, mostOfBeginning).join("") };
}

export function resourceOf(session: Session) {
  const { stop, text, placement } = session;
  return {
    ...summaryOf(session),
    text,
    ...(stop === undefined ? {} : { stop }),
    ...(placement === undefined ? {} : { placement: { ...placement } }),
  } satisfies { readonly [K in keyof SessionResource]?: unknown };
}

/** What is known of an event without reading what it says. */
export type Envelope = Pick<Event, "id" | "step" | "kind" | "by" | "at" | "session" | "parents" | "facts"> & { readonly erased: boolean };

export function envelopeOf(node: Node): Envelope {
  const { id, step, kind, by, at, facts, log, parents, erased } = node;
  return { id, step, kind, by, at, facts, session: log.id, parents: parents.map((parent) => parent.id), erased };
}

/** Rows of about 150 bytes: what can be told from the row before it and from the question is left out. */
export function indexOf(events: readonly Envelope[], session: string): EventIndex[] {
  return events.map((event, index) => {
    const { id, step, kind, by, at, parents, facts, erased } = event;
    const follows = parents.length === 1 && index > 0 && parents[0] === events[index - 1]?.id;
    return {
      ...{ id, step, kind, by, at },
      ...(event.session === session ? {} : { session: event.session }),
      ...(follows ? {} : { parents: [...parents] }),
      ...(Object.keys(facts).length === 0 ? {} : { facts }),
      ...(erased ? { erased: true as const } : {}),
    };
  });
}
