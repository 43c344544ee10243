/** More about the runs that are on screen than lists say: asked for one after the other, and again when something happened to them. */
import { useCallback, useEffect, useSyncExternalStore } from "react";
import type { Client, RunDetail, RunResource } from "../../../../src/client/client.ts";
import { useClient } from "../../client.tsx";

const kept = 1000;
const pauseMs = 20;

class RunDetails {
  readonly #client: Client;
  readonly #known = new Map<string, { readonly state: string; readonly detail: RunDetail | undefined }>();
  readonly #listeners = new Set<() => void>();
  #wanted: readonly RunResource[] = [];
  #asking = false;
  version = 0;

  constructor(client: Client) {
    this.#client = client;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  of({ id }: RunResource): RunDetail | undefined {
    return this.#known.get(id)?.detail;
  }

  want(rows: readonly RunResource[]): void {
    this.#wanted = rows;
    if (!this.#asking) void this.#ask();
  }

  /** Something happened to them: what is known of them may not be true any more. */
  doubt(ids: ReadonlySet<string>): void {
    for (const id of ids) {
      const known = this.#known.get(id);
      if (known !== undefined) this.#known.set(id, { ...known, state: "" });
    }
    this.want(this.#wanted);
  }

  async #ask(): Promise<void> {
    this.#asking = true;
    for (let row = this.#next(); row !== undefined; row = this.#next()) {
      const detail = await this.#client.runs.get(row.id).catch(() => undefined);
      this.#known.delete(row.id);
      this.#known.set(row.id, { state: stateOf(row), detail });
      for (const oldest of this.#known.keys()) if (this.#known.size > kept) this.#known.delete(oldest);
      this.version++;
      for (const listener of this.#listeners) listener();
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
    this.#asking = false;
  }

  #next(): RunResource | undefined {
    return this.#wanted.find((row) => this.#known.get(row.id)?.state !== stateOf(row));
  }
}

function stateOf({ status, owner = "", wakeAt = "" }: RunResource): string {
  return `${status} ${owner} ${wakeAt}`;
}

const known = new WeakMap<Client, RunDetails>();

export function useRunDetails() {
  const client = useClient();
  const details = known.get(client) ?? new RunDetails(client);
  known.set(client, details);
  const version = useSyncExternalStore(details.subscribe, () => details.version);
  useEffect(() => () => details.want([]), [details]);
  const see = useCallback((rows: readonly RunResource[]) => details.want(rows), [details]);
  const doubt = useCallback((ids: ReadonlySet<string>) => details.doubt(ids), [details]);
  return { of: (row: RunResource) => details.of(row), see, doubt, version };
}
