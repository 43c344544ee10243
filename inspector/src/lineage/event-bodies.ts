/** Events with what they say, asked for by those who show them: many at once, and each only once. What happens now is taken as it comes. */
import { useEffect, useSyncExternalStore } from "react";
import type { Client, EventResource } from "../../../src/client/client.ts";
import { useClient } from "../client.tsx";
import { useLineage } from "./use-lineage.tsx";

const atOnce = 60;
const kept = 1500;
/** Of an event that could not be read: so often it is asked for again. */
const tries = 2;

class EventBodies {
  readonly #client: Client;
  readonly #events = new Map<string, EventResource>();
  readonly #failed = new Map<string, number>();
  readonly #listeners = new Set<() => void>();
  #wanted: readonly string[] = [];
  #asking = false;
  version = 0;

  constructor(client: Client) {
    this.#client = client;
  }

  get(id: string): EventResource | undefined {
    return this.#events.get(id);
  }

  /** It was asked for and is not there, or could not be read. */
  isMissing(id: string): boolean {
    return (this.#failed.get(id) ?? 0) >= tries;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly add = (event: EventResource): void => {
    this.#events.set(event.id, event);
    for (const oldest of this.#events.keys()) {
      if (this.#events.size <= kept) break;
      this.#events.delete(oldest);
    }
  };

  /** What was scrolled past before it came is not read any more. */
  want(ids: readonly string[]): void {
    // What could not be read is asked for again by whoever comes back to it.
    const before = new Set(this.#wanted);
    for (const id of ids) if (!before.has(id)) this.#failed.delete(id);
    this.#wanted = ids;
    if (!this.#asking) setTimeout(() => void this.#ask(), 15);
  }

  async #ask(): Promise<void> {
    if (this.#asking) return;
    this.#asking = true;
    for (let ids = this.#next(); ids.length > 0; ids = this.#next()) {
      const { items } = await this.#client.project.events(ids).catch(() => ({ items: [] as readonly EventResource[] }));
      for (const event of items) this.add(event);
      // One answer has room for so much: as long as something came, the rest is asked for again.
      const lost = items.length > 0 ? ids.slice(0, 1) : ids;
      for (const id of lost) if (!this.#events.has(id)) this.#failed.set(id, (this.#failed.get(id) ?? 0) + 1);
      this.version++;
      for (const listener of this.#listeners) listener();
    }
    this.#asking = false;
  }

  #next(): readonly string[] {
    return this.#wanted.filter((id) => !this.#events.has(id) && !this.isMissing(id)).slice(0, atOnce);
  }
}

const known = new WeakMap<Client, EventBodies>();

export interface Bodies {
  readonly get: (id: string) => EventResource | undefined;
  readonly isMissing: (id: string) => boolean;
}

/** Gives events once they are here; `ids` are those that are on screen now. */
export function useEventBodies(ids: readonly string[]): Bodies {
  const client = useClient();
  const { live } = useLineage();
  const bodies = known.get(client) ?? new EventBodies(client);
  known.set(client, bodies);
  useSyncExternalStore(bodies.subscribe, () => bodies.version);
  useEffect(() => live.hear(bodies.add), [live, bodies]);
  const wanted = ids.join();
  useEffect(() => bodies.want(wanted === "" ? [] : wanted.split(",")), [bodies, wanted]);
  return { get: (id) => bodies.get(id), isMissing: (id) => bodies.isMissing(id) };
}
