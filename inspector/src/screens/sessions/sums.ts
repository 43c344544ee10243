/** What the rows of the list come to. */
import type { SessionRow } from "../../../../src/client/client.ts";
import { agentName } from "../../parts/agent-name.ts";
import type { AgentSpent, Spent } from "./spendings.ts";

export interface Bucket {
  readonly from: number;
  readonly to: number;
  readonly usd: number;
  readonly sessions: number;
}

/** How rows are counted. */
export interface Counting {
  /** Branches are listed too: each row counts what is its own. */
  readonly withBranches: boolean;
  /** What all branches of a root used, as far as it was read; until then what lies behind the root counts. */
  readonly spentBy: (row: SessionRow) => Spent | undefined;
}

/** What a row counts; undefined: the list does not say. */
export function spentOf(row: SessionRow, { withBranches, spentBy }: Counting): Spent | undefined {
  const { usage, parent } = row;
  const isOwn = withBranches || parent !== undefined;
  const read = isOwn ? undefined : spentBy(row);
  if (read !== undefined || usage === undefined) return read;
  const { input, output, usd } = isOwn ? usage.own : usage;
  return { tokens: input + output, usd };
}

function usdOf(row: SessionRow, counting: Counting): number {
  return spentOf(row, counting)?.usd ?? 0;
}

export function totalUsd(rows: readonly SessionRow[], counting: Counting): number {
  return rows.reduce((sum, row) => sum + usdOf(row, counting), 0);
}

/** Whether all that was spent is counted: what branches that were left behind spent is not, before it was read. */
export function isAllCounted(rows: readonly SessionRow[], { withBranches, spentBy }: Counting): boolean {
  return withBranches || rows.every((row) => row.parent !== undefined || row.children === 0 || spentBy(row) !== undefined);
}

/** The costliest first; of equal ones the one that comes first stays first. */
export function byCost(rows: readonly SessionRow[], counting: Counting): readonly SessionRow[] {
  return rows.toSorted((a, b) => usdOf(b, counting) - usdOf(a, counting));
}

/** The time between the oldest and the newest change in equal parts, with what the sessions that changed in each of them cost. */
export function costOverTime(rows: readonly SessionRow[], parts: number, counting: Counting): readonly Bucket[] {
  const times = rows.map(({ changed }) => Date.parse(changed)).filter((time) => !Number.isNaN(time));
  if (times.length === 0) return [];
  const [first, last] = times.reduce(([low, high], time) => [Math.min(low, time), Math.max(high, time)], [times[0] ?? 0, times[0] ?? 0]);
  const width = Math.max(1, (last - first) / parts);
  const sums = Array.from({ length: parts }, (_, index) => ({
    ...{ from: first + index * width, to: first + (index + 1) * width },
    ...{ usd: 0, sessions: 0 },
  }));
  for (const row of rows) {
    const sum = sums[Math.min(parts - 1, Math.floor((Date.parse(row.changed) - first) / width))];
    if (sum === undefined) continue;
    sum.usd += usdOf(row, counting);
    sum.sessions++;
  }
  return sums;
}

/** The agents that used most, and the rest as one. An agent is known by the end of its path. */
export function byAgent(spent: Iterable<readonly AgentSpent[]>, most: number): readonly AgentSpent[] {
  const sums = new Map<string, { agent: string; tokens: number; usd: number }>();
  for (const list of spent)
    for (const { agent, tokens, usd } of list) {
      const name = agentName(agent);
      const sum = sums.get(name) ?? { agent: name, tokens: 0, usd: 0 };
      sums.set(name, sum);
      sum.tokens += tokens;
      sum.usd += usd;
    }
  const sorted = [...sums.values()].filter(({ tokens }) => tokens > 0).sort((a, b) => b.tokens - a.tokens || (a.agent < b.agent ? -1 : 1));
  if (sorted.length <= most) return sorted;
  const rest = sorted.slice(most - 1);
  const total = { tokens: rest.reduce((sum, { tokens }) => sum + tokens, 0), usd: rest.reduce((sum, { usd }) => sum + usd, 0) };
  return [...sorted.slice(0, most - 1), { agent: `${rest.length} others`, ...total }];
}
