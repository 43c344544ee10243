/** Events as a store sees them, with real ids and digests over the template envelope. For tests of stores. */
import { hash, randomBytes } from "node:crypto";
import type { StoredEvent } from "../store/store.ts";

export interface EventDraft {
  readonly session: string;
  readonly step?: number | undefined;
  readonly parents?: readonly string[] | undefined;
  readonly run?: string | undefined;
  readonly order?: number | undefined;
  /** The payload without its salt; text is taken as UTF-8. */
  readonly data?: string | Uint8Array | undefined;
  readonly kind?: string | undefined;
  readonly by?: string | undefined;
  readonly at?: string | undefined;
  readonly facts?: Readonly<Record<string, string | number>> | undefined;
}

/** One event. Keys of the envelope come out sorted and without white space, as they are hashed. */
export function storedEvent(draft: EventDraft): StoredEvent {
  const { session, step = 0, parents = [], run, order = 0, data = "{}", kind = "note.added", by = "test", facts = {} } = draft;
  const payload = Buffer.concat([randomBytes(16), typeof data === "string" ? Buffer.from(data) : data]);
  const at = draft.at ?? "2026-11-15T12:00:00.000Z";
  const envelope = Buffer.from(JSON.stringify({ at, by, data: hash("sha256", payload), facts, kind, parents, session, step, version: 1 }));
  return { id: hash("sha256", envelope), session, step, run, order, envelope, data: payload };
}

/** A chain of events in one session, the first one continuing `after`. */
export function storedChain(
  drafts: readonly Omit<EventDraft, "session">[],
  session: string,
  after?: Pick<StoredEvent, "id" | "step">,
): StoredEvent[] {
  let previous = after;
  return drafts.map((draft) => {
    const event = storedEvent({
      step: previous === undefined ? 0 : previous.step + 1,
      parents: previous === undefined ? [] : [previous.id],
      ...draft,
      session,
    });
    previous = event;
    return event;
  });
}

/** What is wrong with an event that was read: its id against its envelope, its data against the digest in the envelope. */
export function eventFault(event: StoredEvent): string | undefined {
  if (hash("sha256", event.envelope) !== event.id) return `the envelope of ${event.id} has another hash`;
  if (event.data === undefined) return undefined;
  const { data } = JSON.parse(Buffer.from(event.envelope).toString()) as { data: string };
  return hash("sha256", event.data) === data ? undefined : `the data of ${event.id} has another hash`;
}
