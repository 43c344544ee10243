/** What the tests of the store contract are made of. */
import type { BranchWrite, Store, StoredEvent } from "../store/store.ts";
import { expect } from "./vitest.ts";

/** Opens another store over what this one has kept. */
export type Reopen = (store: Store) => Promise<Store>;

/** One test of the suite. */
export interface StoreCase {
  readonly name: string;
  run(store: Store, reopen: Reopen): Promise<void>;
  /** It needs `reopen`. */
  readonly reopens?: boolean;
}

/** All items of a stream. */
export async function collect<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of stream) all.push(item);
  return all;
}

/** A session's new events after its head. */
export function branch(events: readonly StoredEvent[], after?: StoredEvent): BranchWrite {
  return { session: (events[0] as StoredEvent).session, expectedHead: after?.id, events };
}

/** Buffers and Uint8Arrays with the same bytes compare equal; parts, where there are any, say what the envelope says. */
export function plain(events: readonly StoredEvent[]): StoredEvent[] {
  return events.map(({ parts, ...event }) => {
    if (parts !== undefined)
      expect({ ...parts, facts: JSON.parse(parts.facts) as object }).toEqual(JSON.parse(Buffer.from(event.envelope).toString()));
    return { ...event, envelope: Uint8Array.from(event.envelope), data: event.data && Uint8Array.from(event.data) };
  });
}
