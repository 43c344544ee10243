/** What lists do not say of a session: asked for what is on screen, and once for each of its heads. */
import { useCallback } from "react";
import type { Client, SessionRow } from "../../../../src/client/client.ts";
import { useClient } from "../../client.tsx";
import { AskedOfRows, useAsked } from "../../desk/asked-of-rows.ts";
import { Roots } from "./roots.ts";

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

interface Spendings {
  readonly asked: AskedOfRows<SessionRow, SessionShape>;
  readonly roots: Roots;
}

/** More branches are not made between two looks. */
const mostNew = 200;
const known = new WeakMap<Client, Spendings>();

export interface SpendingsSeen {
  /** Something happened on these branches: what is known of their roots is asked again. */
  readonly wentOn: (branches: ReadonlySet<string>) => void;
  readonly of: (row: SessionRow) => SessionShape | undefined;
  readonly see: (rows: readonly SessionRow[]) => void;
  readonly version: number;
}

export function useSpendings(): SpendingsSeen {
  const client = useClient();
  const spendings = known.get(client) ?? spendingsOf(client);
  known.set(client, spendings);
  const { asked, roots } = spendings;
  const seen = useAsked(asked);
  const wentOn = useCallback(
    (branches: ReadonlySet<string>) => void roots.of(branches).then((those) => asked.doubt(those)),
    [asked, roots],
  );
  return { ...seen, wentOn };
}

function spendingsOf(client: Client): Spendings {
  const roots = new Roots(async () => (await client.sessions.list({ fields: "index", limit: mostNew }).page()).items);
  const ask = (row: SessionRow): Promise<SessionShape> => shapeOf(client, row, roots);
  return { roots, asked: new AskedOfRows<SessionRow, SessionShape>({ idOf: ({ id }) => id, stateOf: ({ head }) => head, ask }) };
}

async function shapeOf({ sessions }: Client, { id, usage }: SessionRow, roots: Roots): Promise<SessionShape> {
  const graph = await sessions.graph(id).catch(() => undefined);
  // Nobody used anything, on no branch either: nobody need be asked.
  const isUnused = usage !== undefined && usage.input + usage.output === 0 && graph?.nodes.length === 1;
  const cost = isUnused ? undefined : await sessions.cost(id, { by: "agent" }).catch(() => undefined);
  const used = cost?.total.usage;
  const spent = isUnused ? { tokens: 0, usd: 0 } : used && { tokens: used.input + used.output, usd: used.usd };
  const agents = cost?.rows.map(({ name, usage: used }) => ({ agent: name, tokens: used.input + used.output, usd: used.usd })) ?? [];
  if (graph === undefined) return { spent, agents };
  roots.learn(
    id,
    graph.nodes.map((node) => node.id),
  );
  return { spent, agents, branches: graph.nodes.length, events: graph.nodes.reduce((sum, { events }) => sum + events, 0) };
}
