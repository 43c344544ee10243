/** The works of a lane as the paths of one drawing, one for each kind. What is narrower than a pixel becomes one with its neighbours. */
import type { Axis } from "./axis.ts";
import type { Kind, Lane, Work } from "./work.ts";

export interface View {
  readonly axis: Axis;
  /** What is on screen, as the axis places it. */
  readonly left: number;
  readonly right: number;
  readonly width: number;
}

export const subHeight = 13;
export const lanePadding = 5;
const barHeight = 9;
const thinnest = 1.5;

/** Where a time is on screen. */
export function screenX({ axis, left, right, width }: View, time: number): number {
  return ((axis.place(time) - left) / (right - left)) * width;
}

function timeAt({ axis, left, right, width }: View, x: number): number {
  return axis.time(left + (x / width) * (right - left));
}

export function laneHeight({ subs }: Pick<Lane, "subs">): number {
  return lanePadding * 2 + Math.max(1, subs.length) * subHeight;
}

export function pathsOf(works: readonly Work[], view: View): ReadonlyMap<Kind, string> {
  const drawn = new Map<Kind, string[]>();
  const last = new Map<string, { x: number; end: number; sub: number; kind: Kind }>();
  const flush = ({ x, end, sub, kind }: { x: number; end: number; sub: number; kind: Kind }): void => {
    const thin = kind === "wait";
    const height = thin ? 3 : barHeight;
    const top = lanePadding + sub * subHeight + (subHeight - height) / 2;
    const list = drawn.get(kind) ?? [];
    list.push(`M${x.toFixed(1)} ${top}h${Math.max(thinnest, end - x).toFixed(1)}v${height}H${x.toFixed(1)}z`);
    drawn.set(kind, list);
  };
  const piece = (kind: Kind, sub: number, from: number, to: number): void => {
    const x = Math.max(-2, screenX(view, from));
    const end = Math.min(view.width + 2, screenX(view, to));
    if (end < -1 || x > view.width + 1) return;
    const name = `${sub} ${kind}`;
    const before = last.get(name);
    // Nearer than can be told apart.
    if (before !== undefined && x <= Math.max(before.end, before.x + thinnest) + 0.3 && (end - x < 1 || before.end - before.x < 1)) {
      before.end = Math.max(before.end, end);
      return;
    }
    if (before !== undefined) flush(before);
    last.set(name, { x, end, sub, kind });
  };
  const [first, until] = [timeAt(view, 0), timeAt(view, view.width)];
  for (const { kind, before, from, begin, to, sub } of works) {
    if (to < first || from > until) continue;
    if (before !== undefined) piece(before, sub, from, begin);
    piece(kind, sub, begin, to);
  }
  for (const rest of last.values()) flush(rest);
  return new Map([...drawn].map(([kind, list]) => [kind, list.join("")]));
}

/** The work under a place on screen, and how many more are there. */
export function workAt(
  works: readonly Work[],
  view: View,
  x: number,
  y: number,
): { readonly work: Work; readonly more: number } | undefined {
  const near = 3;
  const sub = Math.max(0, Math.floor((y - lanePadding) / subHeight));
  let found: Work | undefined;
  let best = Number.POSITIVE_INFINITY;
  let count = 0;
  // Most of very many are told by their times to lie elsewhere.
  const [first, last] = [timeAt(view, x - near - thinnest), timeAt(view, x + near)];
  for (const work of works) {
    if (work.to < first || work.from > last) continue;
    const from = screenX(view, work.from);
    const to = Math.max(from + thinnest, screenX(view, work.to));
    if (x < from - near || x > to + near) continue;
    if (work.sub === sub) count++;
    const distance = Math.abs(work.sub - sub) * 1000 + (x < from ? from - x : x > to ? x - to : 0) * 10 + (to - from) / 1000;
    if (distance < best) [best, found] = [distance, work];
  }
  return found === undefined ? undefined : { work: found, more: Math.max(0, count - 1) };
}
