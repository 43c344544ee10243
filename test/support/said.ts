/** What a store holds of what was said, for tests of several writers on one store. */
import type { Rath } from "../../src/runtime/rath.ts";
import type { Session } from "../../src/session/session.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { Store, Write } from "../../src/store/store.ts";
import { process } from "./processes.ts";

export const texts = (session: Session): string[] => session.messages.map(({ text }) => text);

export interface Begun {
  readonly here: Rath;
  readonly there: Rath;
  readonly id: string;
  /** What another process adds to it. */
  more(text: string): Promise<Session>;
}

/** A session that another process has begun, and this one; it may see the store otherwise than the other does. */
export async function begun(store: Store = memoryStore(), seen: Store = store): Promise<Begun> {
  const [here, there] = [process(seen), process(store)];
  const { id } = await there.save(there.session("begin"));
  return { here, there, id, more: async (text) => there.save((await there.open(id)).say(text)) };
}

const holds = (data: Uint8Array | undefined, text: string): boolean =>
  data !== undefined && Buffer.from(data).includes(Buffer.from(JSON.stringify(text)));

/** How many events of sessions say this. */
export async function said(store: Store, text: string): Promise<number> {
  let count = 0;
  for await (const { id } of store.sessions({ log: "session" }))
    for await (const { data } of store.events({ session: id })) if (holds(data, text)) count++;
  return count;
}

/** How many events of a kind are stored. */
export async function recorded(store: Store, kind: string): Promise<number> {
  let count = 0;
  for await (const { id } of store.sessions({}))
    for await (const { envelope } of store.events({ session: id })) if (Buffer.from(envelope).includes(`"kind":"${kind}"`)) count++;
  return count;
}

/** Whether an event of a write says this. */
export function says(write: Write, text: string): boolean {
  return write.branches.some(({ events }) => events.some(({ data }) => holds(data, text)));
}

/** The ids that an event names as its parents. */
export function parentsOf({ envelope }: { readonly envelope: Uint8Array }): readonly string[] {
  return (JSON.parse(Buffer.from(envelope).toString()) as { readonly parents: readonly string[] }).parents;
}

/** Events whose parents are not in the store, and runs whose input is not. */
export async function orphans(store: Store): Promise<string[]> {
  const ids = new Set<string>();
  const named: { readonly by: string; readonly id: string }[] = [];
  for await (const { id: session } of store.sessions({}))
    for await (const event of store.events({ session })) {
      ids.add(event.id);
      for (const id of parentsOf(event)) named.push({ by: event.id, id });
      const input =
        Buffer.from(event.envelope).includes('"run.started"') && /"head":"([^"]+)"/.exec(Buffer.from(event.data ?? []).toString());
      if (input) named.push({ by: `the run ${session}`, id: input[1] as string });
    }
  return named.filter(({ id }) => !ids.has(id)).map(({ by, id }) => `${by} stands on ${id}`);
}
