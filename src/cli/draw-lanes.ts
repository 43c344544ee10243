/** Rows of lanes as characters: two columns a lane, so that lines have room to turn. */
import type { LaneMark, LaneRow } from "../wire/lanes.ts";
import { Shown } from "./shown.ts";

const dots: Readonly<Record<LaneMark, readonly [unicode: string, ascii: string]>> = {
  root: ["○", "o"],
  fork: ["○", "o"],
  implicit: ["◌", "o"],
  nested: ["○", "o"],
  detach: ["○", "o"],
  merge: ["◆", "M"],
  adopt: ["★", "A"],
  reject: ["✕", "x"],
  return: ["●", "*"],
  event: ["●", "*"],
};

/** By the directions a cell is joined in: up, down, left, right. */
const lines: Readonly<Record<string, readonly [unicode: string, ascii: string]>> = {
  ud: ["│", "|"],
  lr: ["─", "-"],
  udr: ["├", "|"],
  udl: ["┤", "|"],
  udlr: ["┼", "+"],
  ul: ["╯", "'"],
  ur: ["╰", "`"],
  ulr: ["┴", "'"],
};

/** How many columns the widest row takes. */
export function graphWidth(rows: readonly LaneRow[]): number {
  return rows.reduce((most, row) => Math.max(most, 2 * Math.max(row.lane, row.above.at(-1) ?? 0, row.below.at(-1) ?? 0) + 1), 0);
}

export function drawRow(row: LaneRow, { ascii, width }: { readonly ascii: boolean; readonly width: number }): Shown {
  const style = ascii ? 1 : 0;
  const joins = Array.from({ length: Math.max(width, graphWidth([row])) }, () => new Set<"u" | "d" | "l" | "r">());
  for (const lane of row.above) joins[2 * lane]?.add("u");
  for (const lane of row.below) joins[2 * lane]?.add("d");
  for (const { lane } of row.links) {
    if (lane === undefined || lane === row.lane) continue;
    const [from, to] = lane < row.lane ? [2 * lane, 2 * row.lane] : [2 * row.lane, 2 * lane];
    joins[from]?.add("r");
    for (let column = from + 1; column < to; column++) joins[column]?.add("l").add("r");
    joins[to]?.add("l");
  }
  const cells = joins.map((joined, column) => {
    if (column === 2 * row.lane) return dots[row.mark][style];
    return lines[["u", "d", "l", "r"].filter((way) => joined.has(way as "u")).join("")]?.[style] ?? " ";
  });
  return new Shown(cells.join(""), cells.length);
}
