/** The moments of a branch that one steps to: any event, a turn, what went wrong, what wrote something. */
import { madeOfBranch } from "../../lineage/branch-rows.ts";
import type { Lineage } from "../../lineage/lineage.ts";

export type Moment = "event" | "turn" | "error" | "write";

/** A turn begins with something said, or with a call of a model. */
function isMoment(lineage: Lineage, row: number, moment: Moment): boolean {
  switch (moment) {
    case "event":
      return true;
    case "turn":
      return lineage.kind(row) === "message.added" || lineage.kind(row) === "model.called";
    case "error":
      return lineage.trouble(row) !== undefined;
    case "write":
      return lineage.has(row, "files") || lineage.kind(row) === "remember.returned" || lineage.kind(row) === "forget.returned";
    default:
      return moment satisfies never;
  }
}

/** The place of the next moment of a kind, before or after another; undefined when there is none. */
export function nextMoment(
  lineage: Lineage,
  rows: readonly number[],
  { from, moment, by }: { readonly from: number; readonly moment: Moment; readonly by: 1 | -1 },
): number | undefined {
  for (let place = from + by; place >= 0 && place < rows.length; place += by)
    if (isMoment(lineage, rows[place] as number, moment)) return place;
  return undefined;
}

/** Whether there is a next one: told without looking at all that lies between. */
export function hasMoment(
  lineage: Lineage,
  branch: string,
  { from, moment, by, count }: { readonly from: number; readonly moment: Moment; readonly by: 1 | -1; readonly count: number },
): boolean {
  const places = moment === "event" ? [0, count - 1] : momentsOn(lineage, branch)[moment];
  return by === 1 ? (places.at(-1) ?? -1) > from : (places[0] ?? count) < from;
}

const marked = ["turn", "write", "error"] as const;

/** The places of what is marked on a branch. */
export const momentsOn = madeOfBranch(
  () => ({ turn: [] as number[], write: [] as number[], error: [] as number[] }),
  (places, lineage, row, place) => {
    for (const moment of marked) if (isMoment(lineage, row, moment)) places[moment].push(place);
  },
);

/** Places among so many on a line of some width, each pixel once, as the path of a drawing. */
export function momentMarks(
  places: readonly number[],
  count: number,
  { width, top, height }: { readonly width: number; readonly top: number; readonly height: number },
): string {
  const most = Math.max(1, count - 1);
  let path = "";
  let last = -1;
  for (const place of places) {
    const x = Math.round((place / most) * width);
    if (x === last) continue;
    last = x;
    path += `M${x} ${top}v${height}`;
  }
  return path;
}

/** Calls up to a place that have no result up to there: what was waited for then. */
export function openCalls(lineage: Lineage, rows: readonly number[], place: number): readonly number[] {
  const ended = new Set<number>();
  const open: number[] = [];
  for (let at = Math.min(place, rows.length - 1); at >= 0; at--) {
    const row = rows[at] as number;
    const kind = lineage.kind(row);
    if (kind.endsWith(".returned")) ended.add(lineage.callBehind(row));
    if (kind.endsWith(".called") && !ended.has(row)) open.push(row);
  }
  return open;
}

/** The newest events of some kinds up to a place. */
export function newestOf(
  lineage: Lineage,
  rows: readonly number[],
  place: number,
  kinds: readonly string[],
  most: number,
): readonly number[] {
  const found: number[] = [];
  for (let at = Math.min(place, rows.length - 1); at >= 0 && found.length < most; at--)
    if (kinds.includes(lineage.kind(rows[at] as number))) found.push(rows[at] as number);
  return found;
}
