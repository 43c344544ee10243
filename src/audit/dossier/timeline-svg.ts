/** The timeline as a drawing: rows of bars over one axis, and under them what was spent. */
import { count, money, seconds } from "../../wire/format.ts";
import { type Colour, colour, escaped, round, svg, text } from "../svg.ts";
import type { Bar, BarKind, Stretch, Timeline } from "./timeline.ts";

const words = 190;
const gutter = 204;
const width = 960;
const row = 26;
const top = 26;
const strip = 64;
const quiet = 46;

const looks: Readonly<Record<BarKind, readonly [Colour, string]>> = {
  model: ["model", "model"],
  tool: ["tool", "tool"],
  check: ["check", "check"],
  memory: ["memory", "memory"],
  other: ["other", "code and choices"],
  person: ["person", "waits for a person"],
  wait: ["wait", "waits"],
};

/** The timeline as a drawing. */
export function timelineSvg(timeline: Timeline): string {
  const scale = scaleOf(timeline.stretches);
  const bottom = top + timeline.rows.length * row;
  const height = bottom + strip + 46;
  const lines = [
    ...timeline.stretches.flatMap((stretch) => drawStretch(stretch, scale, bottom + strip)),
    ...timeline.rows.flatMap(({ by, bars }, index) => drawRow(by, bars, top + index * row, scale)),
    ...drawSpent(timeline, scale, bottom + 12),
    ...drawAxis(timeline, scale, bottom + strip),
    ...drawLegend(timeline, height - 8),
  ];
  return svg({ width, height, title: `Timeline over ${seconds(timeline.to - timeline.from)}` }, lines);
}

type Scale = (time: number) => number;

/** Each stretch of work by its length, each quiet one as wide as the next. */
function scaleOf(stretches: readonly Stretch[]): Scale {
  const room = width - gutter - 16;
  const silent = stretches.filter(({ busy }) => !busy).length;
  const idle = Math.min(quiet, (room * 0.4) / Math.max(1, silent));
  const busy = stretches.reduce((sum, one) => sum + (one.busy ? one.to - one.from : 0), 0);
  const perMs = (room - idle * silent) / Math.max(1, busy);
  const starts: number[] = [];
  let x = gutter;
  for (const one of stretches) {
    starts.push(x);
    x += one.busy ? (one.to - one.from) * perMs : idle;
  }
  return (time) => {
    let [low, high] = [0, stretches.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((stretches[middle]?.from ?? 0) <= time) low = middle;
      else high = middle - 1;
    }
    const one = stretches[low];
    if (one === undefined) return gutter;
    const inside = Math.min(1, Math.max(0, (time - one.from) / Math.max(1, one.to - one.from)));
    return round((starts[low] ?? gutter) + inside * (one.busy ? (one.to - one.from) * perMs : idle));
  };
}

function drawStretch({ from, to, busy }: Stretch, scale: Scale, bottom: number): string[] {
  if (busy) return [];
  const [x1, x2] = [scale(from), scale(to - 0.001)];
  return [
    `<rect x="${x1}" y="${top - 8}" width="${round(x2 - x1)}" height="${bottom - top + 8}" style="fill:${colour("wash")}"><title>${escaped(`nothing was done for ${seconds(to - from)}`)}</title></rect>`,
    text(round((x1 + x2) / 2), 12, seconds(to - from), { size: 10, colour: "soft", anchor: "middle" }),
  ];
}

function drawRow(by: string, bars: readonly Bar[], y: number, scale: Scale): string[] {
  return [
    `<g><title>${escaped(by)}</title>`,
    text(gutter - 12, y + 12, lastNames(by), { size: 12, room: words, anchor: "end" }),
    `<line x1="${gutter}" y1="${y + 20.5}" x2="${width - 12}" y2="${y + 20.5}" style="stroke:${colour("line")}"/>`,
    "</g>",
    ...distinct(bars, scale).flatMap((bar) => drawBar(bar, y, scale)),
  ];
}

/** The end of a path tells agents apart. */
function lastNames(by: string): string {
  const names = by.split("/");
  return names.length <= 2 ? by : `…/${names.slice(-2).join("/")}`;
}

/** Bars that nobody could tell apart are drawn once: a long session stays a small picture. */
function distinct(bars: readonly Bar[], scale: Scale): readonly Bar[] {
  const found = new Map<string, Bar & { more: number }>();
  for (const bar of bars) {
    const key = `${bar.kind} ${bar.failed} ${Math.round(scale(bar.from))} ${Math.round(scale(bar.to) / 2)}`;
    const known = found.get(key);
    if (known === undefined) found.set(key, { ...bar, more: 0 });
    else {
      known.more++;
      if (bar.retries > known.retries) found.set(key, { ...bar, more: known.more });
    }
  }
  return [...found.values()].map((bar) => (bar.more === 0 ? bar : { ...bar, title: `${bar.title}, and ${count(bar.more)} more` }));
}

function drawBar(bar: Bar, y: number, scale: Scale): string[] {
  const { kind, from, to, failed, retries, reused } = bar;
  const x = scale(from);
  const wide = Math.max(2.5, round(scale(to) - x));
  const [tint] = looks[kind];
  const waits = kind === "person" || kind === "wait";
  const title = `<title>${escaped(`${bar.title} · ${seconds(to - from)}${reused ? " · taken from an earlier run" : ""}`.slice(0, 300))}</title>`;
  const shape = waits
    ? `<rect x="${x}" y="${y + 5}" width="${wide}" height="8" rx="2" style="fill:none;stroke:${colour(tint)}" stroke-dasharray="3 2">${title}</rect>`
    : `<rect x="${x}" y="${y + 2}" width="${wide}" height="14" rx="2" style="fill:${colour(tint)}" fill-opacity="${reused ? 0.35 : 0.92}">${title}</rect>`;
  const fails = failed ? [`<rect x="${x}" y="${y + 16.5}" width="${wide}" height="2.5" style="fill:${colour("bad")}"/>`] : [];
  const again =
    retries > 0
      ? [
          `<circle cx="${round(x + wide)}" cy="${y + 3}" r="4" style="fill:${colour("bad")};stroke:${colour("paper")}" stroke-width="1.5"><title>tried ${retries + 1} times</title></circle>`,
        ]
      : [];
  return [shape, ...fails, ...again];
}

/** What was spent when: money where there is any, else tokens. */
function drawSpent({ spent }: Timeline, scale: Scale, y: number): string[] {
  const total = spent.reduce((sum, one) => ({ usd: sum.usd + one.usd, tokens: sum.tokens + one.tokens }), { usd: 0, tokens: 0 });
  if (total.tokens === 0) return [];
  const of = (one: { readonly usd: number; readonly tokens: number }): number => (total.usd > 0 ? one.usd : one.tokens);
  const columns = new Map<number, number>();
  for (const one of spent) {
    const at = Math.round(scale(one.at) / 5) * 5;
    columns.set(at, (columns.get(at) ?? 0) + of(one));
  }
  const most = [...columns.values()].reduce((a, b) => Math.max(a, b), 0) || 1;
  const high = strip - 26;
  return [
    text(gutter - 12, y + high - 10, total.usd > 0 ? "cost" : "tokens", { size: 12, anchor: "end" }),
    text(gutter - 12, y + high + 4, total.usd > 0 ? money(total.usd) : count(total.tokens), { size: 11, anchor: "end", colour: "soft" }),
    ...[...columns].map(([at, sum]) => {
      const tall = round(Math.max(1.5, (sum / most) * high));
      return `<rect x="${at - 2}" y="${round(y + high - tall)}" width="4" height="${tall}" style="fill:${colour("accent")}"><title>${total.usd > 0 ? money(sum) : count(sum)}</title></rect>`;
    }),
  ];
}

function drawAxis({ from, stretches }: Timeline, scale: Scale, y: number): string[] {
  const marks = [`<line x1="${gutter}" y1="${y}" x2="${width - 12}" y2="${y}" style="stroke:${colour("soft")}"/>`];
  let free = 0;
  for (const one of stretches) {
    if (!one.busy) continue;
    const steps = Math.max(1, Math.min(6, Math.floor((scale(one.to) - scale(one.from)) / 90)));
    for (let index = 0; index <= steps; index++) {
      const time = one.from + ((one.to - one.from) * index) / steps;
      const x = scale(index === steps ? time - 0.001 : time);
      marks.push(`<line x1="${x}" y1="${y}" x2="${x}" y2="${y + 4}" style="stroke:${colour("soft")}"/>`);
      const label = time === from ? "0" : `+${seconds(time - from)}`;
      const half = label.length * 3;
      if (x - half < free || x + half > width) continue;
      free = x + half + 8;
      marks.push(text(x, y + 16, label, { size: 10, colour: "soft", anchor: "middle" }));
    }
  }
  return marks;
}

function drawLegend({ rows }: Timeline, y: number): string[] {
  const used = new Set(rows.flatMap(({ bars }) => bars.map(({ kind }) => kind)));
  let x = gutter;
  const items = (Object.keys(looks) as BarKind[]).filter((kind) => used.has(kind)).map((kind) => looks[kind]);
  return [...items, ["bad", "failed or tried again"] as const].flatMap(([tint, label]) => {
    const at = x;
    x = round(x + 30 + label.length * 6.1);
    return [
      `<rect x="${at}" y="${y - 9}" width="10" height="10" rx="2" style="fill:${colour(tint)}"/>`,
      text(at + 15, y, label, { size: 11, colour: "soft" }),
    ];
  });
}
