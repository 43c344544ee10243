/** What the rows of the list come to. */
import type { SessionRow } from "../../../../src/client/client.ts";
import { agentName } from "../../parts/agent-name.ts";
import type { AgentSpent } from "./spendings.ts";

export interface Bucket {
  readonly from: number;
  readonly to: number;
  readonly usd: number;
  readonly sessions: number;
}

/** Of a root everything behind it counts; where branches are listed too, each counts what is its own. */
export function usdOf({ usage, parent }: SessionRow, withBranches: boolean): number {
  if (usage === undefined) return 0;
  return withBranches || parent !== undefined ? usage.own.usd : usage.usd;
}

/** The costliest first; of equal ones the one that comes first stays first. */
export function byCost(rows: readonly SessionRow[], withBranches: boolean): readonly SessionRow[] {
  return rows.toSorted((a, b) => usdOf(b, withBranches) - usdOf(a, withBranches));
}

/** Of the same events as the cost. */
export function tokensOf({ usage, parent }: SessionRow, withBranches: boolean): number | undefined {
  if (usage === undefined) return undefined;
  const { input, output } = withBranches || parent !== undefined ? usage.own : usage;
  return input + output;
}

/** The time between the oldest and the newest change in equal parts, with what the sessions that changed in each of them cost. */
export function costOverTime(rows: readonly SessionRow[], parts: number, withBranches = false): readonly Bucket[] {
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
    sum.usd += usdOf(row, withBranches);
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
