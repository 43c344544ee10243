/** Time as the timeline draws it: long stretches in which nothing was done are breaks, all equally short. */
import type { Span } from "./spans.ts";

export interface Break extends Span {
  /** Where it is drawn. */
  readonly at: number;
}

export class Axis {
  readonly #spans: readonly Span[];
  /** Where each span begins as it is drawn. */
  readonly #starts: readonly number[];
  /** How long a break is drawn. */
  readonly breakLength: number;
  readonly length: number;
  readonly breaks: readonly Break[];

  /** The spans lie apart and in order. */
  constructor(spans: readonly Span[]) {
    this.#spans = spans.length === 0 ? [{ from: 0, to: 0 }] : spans;
    const worked = this.#spans.reduce((sum, { from, to }) => sum + to - from, 0);
    const breaks = this.#spans.length - 1;
    this.breakLength = breaks === 0 ? 0 : (Math.max(worked, 1) * 0.5) / Math.max(16, breaks);
    const starts: number[] = [];
    const found: Break[] = [];
    let at = 0;
    for (const [index, { from, to }] of this.#spans.entries()) {
      const before = this.#spans[index - 1];
      if (before !== undefined) {
        found.push({ from: before.to, to: from, at });
        at += this.breakLength;
      }
      starts.push(at);
      at += to - from;
    }
    [this.#starts, this.breaks] = [starts, found];
    this.length = Math.max(at, 1);
  }

  get from(): number {
    return this.#spans[0]?.from ?? 0;
  }

  get to(): number {
    return this.#spans.at(-1)?.to ?? 0;
  }

  /** Where a time is drawn. */
  place(time: number): number {
    const index = lastAtMost(this.#spans, time, ({ from }) => from);
    if (index < 0) return 0;
    const span = this.#spans[index] as Span;
    const start = this.#starts[index] as number;
    if (time <= span.to) return start + time - span.from;
    const next = this.#spans[index + 1];
    const end = start + span.to - span.from;
    return next === undefined ? end : end + (this.breakLength * (time - span.to)) / (next.from - span.to);
  }

  /** Which time is drawn there. */
  time(place: number): number {
    const index = Math.max(
      0,
      lastAtMost(this.#starts, place, (start) => start),
    );
    const span = this.#spans[index] as Span;
    const into = place - (this.#starts[index] as number);
    const length = span.to - span.from;
    if (into <= length) return span.from + Math.max(0, into);
    const next = this.#spans[index + 1];
    return next === undefined ? span.to : span.to + ((into - length) / this.breakLength) * (next.from - span.to);
  }

  /** Times between two places that are good to name, so far apart at least. */
  ticks(left: number, right: number, apart: number): readonly number[] {
    const step = roundStep(apart);
    const found: number[] = [];
    let last = Number.NEGATIVE_INFINITY;
    for (const [index, { from, to }] of this.#spans.entries()) {
      const start = this.#starts[index] as number;
      if (start > right) break;
      if (start + to - from < left) continue;
      const first = Math.max(from, from + left - start) - this.from;
      for (let elapsed = Math.ceil(first / step) * step; elapsed + this.from <= to; elapsed += step) {
        const place = start + elapsed + this.from - from;
        if (place > right) break;
        if (place - last < apart * 0.9) continue;
        found.push(elapsed + this.from);
        last = place;
      }
    }
    return found;
  }
}

/** Time since the beginning, exact enough to tell ticks apart that lie so far from each other. */
export function tickText(elapsed: number, apart: number): string {
  if (elapsed === 0) return "0";
  const decimals = apart >= 1000 ? 0 : apart >= 100 ? 1 : apart >= 10 ? 2 : 3;
  if (elapsed < 1000 && apart < 1000) return `${Number(elapsed.toFixed(1))} ms`;
  if (elapsed < 60_000) return `${(elapsed / 1000).toFixed(decimals)} s`;
  const [hours, minutes, left] = [Math.floor(elapsed / 3_600_000), Math.floor(elapsed / 60_000) % 60, (elapsed % 60_000) / 1000];
  const rest = left.toFixed(decimals).padStart(decimals === 0 ? 2 : decimals + 3, "0");
  return hours === 0 ? `${minutes}:${rest}` : `${hours}:${String(minutes).padStart(2, "0")}:${rest}`;
}

const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000];

function roundStep(apart: number): number {
  return steps.find((step) => step >= apart) ?? Math.ceil(apart / 3_600_000) * 3_600_000;
}

function lastAtMost<T>(items: readonly T[], value: number, of: (item: T) => number): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (of(items[middle] as T) <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
