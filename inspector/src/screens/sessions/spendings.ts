/** What lists do not say of a session: asked for what is on screen, one session after the other, and once for each of its heads. */
import { useCallback, useEffect, useSyncExternalStore } from "react";
import type { Client, SessionRow } from "../../../../src/client/client.ts";
import { useClient } from "../../client.tsx";

export interface AgentSpent {
  readonly agent: string;
  readonly tokens: number;
  readonly usd: number;
}

/** Over all its branches. */
export interface SessionShape {
  readonly agents: readonly AgentSpent[];
  readonly branches?: number | undefined;
  readonly events?: number | undefined;
}

const kept = 2000;
/** Between two questions: a list that is scrolled through is no flood. */
const pauseMs = 30;

class Spendings {
  readonly #client: Client;
  readonly #byHead = new Map<string, SessionShape>();
  readonly #listeners = new Set<() => void>();
  #wanted: readonly SessionRow[] = [];
  #asking = false;
  version = 0;

  constructor(client: Client) {
    this.#client = client;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  of({ head }: SessionRow): SessionShape | undefined {
    return this.#byHead.get(head);
  }

  /** The newest wish counts: what was scrolled past is not asked for any more. */
  want(rows: readonly SessionRow[]): void {
    this.#wanted = rows;
    if (!this.#asking) void this.#ask();
  }

  async #ask(): Promise<void> {
    this.#asking = true;
    for (let row = this.#next(); row !== undefined; row = this.#next()) {
      this.#byHead.set(row.head, await this.#shapeOf(row));
      for (const oldest of this.#byHead.keys()) if (this.#byHead.size > kept) this.#byHead.delete(oldest);
      this.version++;
      for (const listener of this.#listeners) listener();
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
    this.#asking = false;
  }

  #next(): SessionRow | undefined {
    return this.#wanted.find(({ head }) => !this.#byHead.has(head));
  }

  async #shapeOf({ id, usage }: SessionRow): Promise<SessionShape> {
    const { sessions } = this.#client;
    // Nobody used anything: nobody need be asked.
    const isUnused = usage !== undefined && usage.input + usage.output === 0;
    const [cost, graph] = await Promise.all([
      isUnused ? undefined : sessions.cost(id, { by: "agent" }).catch(() => undefined),
      sessions.graph(id).catch(() => undefined),
    ]);
    const agents = cost?.rows.map(({ name, usage: used }) => ({ agent: name, tokens: used.input + used.output, usd: used.usd })) ?? [];
    if (graph === undefined) return { agents };
    return { agents, branches: graph.nodes.length, events: graph.nodes.reduce((sum, { events }) => sum + events, 0) };
  }
}

const known = new WeakMap<Client, Spendings>();

export interface SpendingsSeen {
  readonly of: (row: SessionRow) => SessionShape | undefined;
  readonly see: (rows: readonly SessionRow[]) => void;
  readonly version: number;
}

export function useSpendings(): SpendingsSeen {
  const client = useClient();
  const spendings = known.get(client) ?? new Spendings(client);
  known.set(client, spendings);
  const version = useSyncExternalStore(spendings.subscribe, () => spendings.version);
  useEffect(() => () => spendings.want([]), [spendings]);
  const see = useCallback((rows: readonly SessionRow[]) => spendings.want(rows), [spendings]);
  return { of: (row) => spendings.of(row), see, version };
}
