/** What lists do not say of a session: asked for what is on screen, and once for each of its heads. */
import type { Client, SessionRow } from "../../../../src/client/client.ts";
import { useClient } from "../../client.tsx";
import { AskedOfRows, useAsked } from "../../desk/asked-of-rows.ts";

export interface Spent {
  readonly tokens: number;
  readonly usd: number;
}

export interface AgentSpent extends Spent {
  readonly agent: string;
}

/** Over all its branches. */
export interface SessionShape {
  /** What was used; undefined: it could not be read. */
  readonly spent?: Spent | undefined;
  readonly agents: readonly AgentSpent[];
  readonly branches?: number | undefined;
  readonly events?: number | undefined;
}

const known = new WeakMap<Client, AskedOfRows<SessionRow, SessionShape>>();

export interface SpendingsSeen {
  readonly of: (row: SessionRow) => SessionShape | undefined;
  readonly see: (rows: readonly SessionRow[]) => void;
  readonly version: number;
}

export function useSpendings(): SpendingsSeen {
  const client = useClient();
  const spendings =
    known.get(client) ??
    new AskedOfRows<SessionRow, SessionShape>({ idOf: ({ id }) => id, stateOf: ({ head }) => head, ask: (row) => shapeOf(client, row) });
  known.set(client, spendings);
  return useAsked(spendings);
}

async function shapeOf({ sessions }: Client, { id, usage, children }: SessionRow): Promise<SessionShape> {
  // Nobody used anything, on no branch either: nobody need be asked.
  const isUnused = usage !== undefined && usage.input + usage.output === 0 && children === 0;
  const [cost, graph] = await Promise.all([
    isUnused ? undefined : sessions.cost(id, { by: "agent" }).catch(() => undefined),
    sessions.graph(id).catch(() => undefined),
  ]);
  const used = cost?.total.usage;
  const spent = isUnused ? { tokens: 0, usd: 0 } : used && { tokens: used.input + used.output, usd: used.usd };
  const agents = cost?.rows.map(({ name, usage: used }) => ({ agent: name, tokens: used.input + used.output, usd: used.usd })) ?? [];
  if (graph === undefined) return { spent, agents };
  return { spent, agents, branches: graph.nodes.length, events: graph.nodes.reduce((sum, { events }) => sum + events, 0) };
}
