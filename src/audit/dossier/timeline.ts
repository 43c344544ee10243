/**
 * When was what done, by whom: one row an agent, one bar an effect. Time in which nobody did anything, or everybody only waited, is
 * drawn short and says how long it was.
 */
import type { Given } from "../../runtime/services.ts";
import { type Effect, neededApproval } from "./effects.ts";
import type { Dossier } from "./read.ts";

/** What a bar stands for. */
export type BarKind = "model" | "tool" | "check" | "memory" | "other" | "person" | "wait";

export interface Bar {
  readonly kind: BarKind;
  readonly from: number;
  readonly to: number;
  readonly failed: boolean;
  /** How often it was tried beyond the first time. */
  readonly retries: number;
  readonly reused: boolean;
  readonly title: string;
}

/** The bars of one agent. */
export interface TimeRow {
  readonly by: string;
  readonly bars: readonly Bar[];
}

/** A stretch of time, and whether somebody did something in it. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
  readonly busy: boolean;
}

export interface Timeline {
  readonly rows: readonly TimeRow[];
  readonly stretches: readonly Stretch[];
  readonly from: number;
  readonly to: number;
  /** How long somebody did something. */
  readonly busyMs: number;
  /** What was spent when. */
  readonly spent: readonly { readonly at: number; readonly usd: number; readonly tokens: number }[];
  /** Agents that have no row of their own. */
  readonly others: number;
}

const mostRows = 24;
const kinds: Readonly<Record<Effect["op"], BarKind>> = {
  ...{ model: "model", tool: "tool", check: "check", recall: "memory", remember: "memory", forget: "memory" },
  ...{ ask: "person", wait: "wait", receive: "wait", do: "other", route: "other" },
};

/** The timeline of all branches. */
export function timelineOf({ effects, events, runs, decisions }: Dossier): Timeline {
  const bars = new Map<string, Bar[]>();
  for (const effect of effects) {
    const own = bars.get(effect.by);
    const more = barsOf(effect, decisions.get(effect.call.id));
    if (own === undefined) bars.set(effect.by, more);
    else own.push(...more);
  }
  const ranked = [...bars].sort(([, a], [, b]) => b.length - a.length);
  const shown = new Set(ranked.slice(0, ranked.length > mostRows ? mostRows - 1 : mostRows).map(([by]) => by));
  const rows = [...bars].flatMap(([by, own]) => (shown.has(by) ? [{ by, bars: own }] : []));
  const rest = ranked.filter(([by]) => !shown.has(by));
  if (rest.length > 0) rows.push({ by: `${rest.length} more`, bars: rest.flatMap(([, own]) => own) });
  const times = [...events, ...runs.flatMap(({ journal, started }) => (started === undefined ? [] : journal))].map(({ at }) =>
    Date.parse(at),
  );
  const from = times.reduce((least, at) => Math.min(least, at), times[0] ?? 0);
  const to = times.reduce((newest, at) => Math.max(newest, at), from);
  const stretches = stretchesOf(
    rows.flatMap((row) => row.bars),
    from,
    to,
  );
  const busyMs = stretches.reduce((sum, stretch) => sum + (stretch.busy ? stretch.to - stretch.from : 0), 0);
  return { rows, stretches, from, to, busyMs, spent: spentIn(effects), others: rest.length };
}

function barsOf(effect: Effect, decision: Given | undefined): Bar[] {
  const { op, asked, started, begun, ended, outcome, attempts, reused, name } = effect;
  const bar = (kind: BarKind, from: number, to: number, title: string): Bar => ({
    ...{ kind, from, to, title, reused: reused !== undefined },
    failed: kind !== "person" && outcome !== "ok",
    retries: kind === "person" ? 0 : attempts - 1,
  });
  const title = `${op} ${name} · ${outcome}${attempts > 1 ? ` after ${attempts} attempts` : ""}`;
  // One that was refused never began.
  const from = !neededApproval(effect, decision) ? asked : started === undefined ? (ended ?? asked) : begun;
  const waits =
    from > asked
      ? [bar("person", asked, from, `${name} waits for a person${decision === undefined ? ", and nobody has answered" : ""}`)]
      : [];
  return [...waits, bar(kinds[op], from, ended ?? begun, title)];
}

/** Short gaps are left as they are. */
function stretchesOf(bars: readonly Bar[], from: number, to: number): readonly Stretch[] {
  const work = bars
    .filter(({ kind }) => kind !== "person" && kind !== "wait")
    .map((bar) => [bar.from, bar.to] as const)
    .sort((a, b) => a[0] - b[0]);
  const merged: { from: number; to: number }[] = [];
  for (const [start, end] of work) {
    const last = merged.at(-1);
    if (last !== undefined && start <= last.to) last.to = Math.max(last.to, end);
    else merged.push({ from: start, to: end });
  }
  const busy = merged.reduce((sum, one) => sum + one.to - one.from, 0);
  const longest = Math.max(1000, busy * 0.15);
  const stretches: Stretch[] = [];
  let [open, at] = [from, from];
  for (const { from: start, to: end } of [...merged, { from: to, to }]) {
    if (start - at > longest) {
      if (at > open) stretches.push({ from: open, to: at, busy: true });
      stretches.push({ from: at, to: start, busy: false });
      open = start;
    }
    at = Math.max(at, end);
  }
  if (at > open || stretches.length === 0) stretches.push({ from: open, to: Math.max(at, open + 1), busy: true });
  return stretches;
}

function spentIn(effects: readonly Effect[]): Timeline["spent"] {
  return effects.flatMap(({ result, reused }) => {
    const usage = result?.facts.usage;
    if (usage === undefined || reused !== undefined || result === undefined) return [];
    return [{ at: Date.parse(result.at), usd: usage.usd, tokens: usage.input + usage.output }];
  });
}
