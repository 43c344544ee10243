/** What events say in a line, asked for by those who show them: many at once, and each only once. */
import { useEffect, useSyncExternalStore } from "react";
import type { Client } from "../../../src/client/client.ts";
import { useClient } from "../client.tsx";

const atOnce = 120;
const kept = 20_000;

class EventLines {
  readonly #client: Client;
  readonly #lines = new Map<string, string>();
  readonly #asked = new Set<string>();
  readonly #listeners = new Set<() => void>();
  #wanted: string[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  version = 0;

  constructor(client: Client) {
    this.#client = client;
  }

  line(id: string): string | undefined {
    return this.#lines.get(id);
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** The newest wish first: what was scrolled past is not read any more. */
  want(ids: readonly string[]): void {
    const missing = ids.filter((id) => id !== "" && !this.#lines.has(id) && !this.#asked.has(id));
    if (missing.length === 0) return;
    this.#wanted = [...new Set([...missing, ...this.#wanted])].slice(0, atOnce * 4);
    this.#timer ??= setTimeout(() => void this.#ask(), 20);
  }

  async #ask(): Promise<void> {
    const ids = this.#wanted.splice(0, atOnce);
    for (const id of ids) this.#asked.add(id);
    try {
      const { items } = await this.#client.project.eventLines(ids);
      for (const { id, line } of items) this.#lines.set(id, line);
      for (const oldest of this.#lines.keys()) {
        if (this.#lines.size <= kept) break;
        this.#lines.delete(oldest);
      }
    } catch {
      // Rows are shown by their kind; whoever scrolls back asks again.
    }
    for (const id of ids) this.#asked.delete(id);
    this.#timer = this.#wanted.length > 0 ? setTimeout(() => void this.#ask(), 0) : undefined;
    this.version++;
    for (const listener of this.#listeners) listener();
  }
}

const known = new WeakMap<Client, EventLines>();

/** Gives the line of an event once it is known; `ids` are the events that are on screen now. */
export function useEventLines(ids: readonly string[]): (id: string) => string | undefined {
  const client = useClient();
  const lines = known.get(client) ?? new EventLines(client);
  known.set(client, lines);
  useSyncExternalStore(lines.subscribe, () => lines.version);
  const wanted = ids.join();
  useEffect(() => lines.want(wanted === "" ? [] : wanted.split(",")), [lines, wanted]);
  return (id) => lines.line(id);
}
