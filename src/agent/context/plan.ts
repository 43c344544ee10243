/** What a policy would drop, keep and shorten: pure, and computed from the log alone, so that resuming and replaying come to the same. */
import type { View } from "../../session/context.ts";
import type { Node } from "../../session/log.ts";
import type { Platform } from "../../session/platform.ts";
import { resultText, type Unit } from "./units.ts";

/** What is to be read from now on. */
export interface Plan {
  readonly dropped: ReadonlySet<Node>;
  /** Results, and to how many characters. */
  readonly shortened: ReadonlyMap<Node, number>;
  /** About how many tokens that saves, before anything stands in its place. */
  readonly saved: number;
}

/** Estimates of one conversation, where one token of an estimate may be more or less of a provider's. */
export interface Measured {
  readonly units: readonly Unit[];
  /** All that is read: instructions, tools and conversation. */
  readonly tokens: number;
  readonly scale: number;
}

/** Room for the text that stands in place of what is dropped. */
const room = 30;

/** Drops the oldest until at most `target` tokens are read, or nothing more may be dropped. */
export function dropOldest({ units, tokens, scale }: Measured, target: number): Plan | undefined {
  let saved = 0;
  const dropped = new Set<Node>();
  for (const unit of units) {
    if (tokens - saved + (dropped.size === 0 ? 0 : room) <= target) break;
    if (unit.pinned) continue;
    for (const node of unit.nodes) dropped.add(node);
    saved += unit.tokens * scale;
  }
  return dropped.size === 0 ? undefined : { dropped, shortened: new Map(), saved: Math.floor(saved) };
}

/** Drops everything older than the newest `keep` tokens. */
export function dropBefore({ units, scale }: Measured, keep: number): Plan | undefined {
  let left = keep;
  let from = units.length;
  while (from > 0 && left - (units[from - 1] as Unit).tokens * scale >= 0) left -= (units[--from] as Unit).tokens * scale;
  const older = units.slice(0, from).filter((unit) => !unit.pinned);
  return dropping(older, scale);
}

/** Drops what is not among those kept; rounds stay whole, and what is pinned stays. */
export function dropOthers({ units, scale }: Measured, keep: ReadonlySet<string>): Plan | undefined {
  return dropping(
    units.filter((unit) => !unit.pinned && !unit.nodes.some((node) => keep.has(node.id))),
    scale,
  );
}

function dropping(units: readonly Unit[], scale: number): Plan | undefined {
  if (units.length === 0) return undefined;
  const saved = units.reduce((sum, unit) => sum + unit.tokens, 0) * scale;
  return { dropped: new Set(units.flatMap(({ nodes }) => nodes)), shortened: new Map(), saved: Math.floor(saved) };
}

/** What the note about what is not shown takes: a result that is shorter than that with its note is left alone. */
const note = 60;

const lengths = new WeakMap<Node, number>();

/** How many characters a result has. Found once: results do not change. */
export function lengthOf(node: Node, platform: Platform): number {
  const known = lengths.get(node) ?? resultText(node, undefined, platform).length;
  lengths.set(node, known);
  return known;
}

/** Shortens results of all rounds but the newest `keep` to so many characters. */
export function shortenResults({ units, scale }: Measured, view: View, to: number, keep: number, platform: Platform): Plan | undefined {
  const rounds = units.filter(({ round }) => round);
  const shortened = new Map<Node, number>();
  let saved = 0;
  for (const node of rounds.slice(0, Math.max(0, rounds.length - keep)).flatMap(({ nodes }) => nodes.slice(1))) {
    const now = view.cuts.get(node);
    if (now !== undefined && now <= to) continue;
    const length = lengthOf(node, platform);
    if (length <= to + note) continue;
    shortened.set(node, to);
    saved += ((Math.min(length, now ?? length) - to - note) / 4) * scale;
  }
  return shortened.size === 0 ? undefined : { dropped: new Set(), shortened, saved: Math.floor(saved) };
}
