/** The lanes of one row: lines that come down, turn and go on, and the glyph of the row. Drawn per row, so that it moves with it. */
import type { LaneLink } from "../../../../src/wire/lanes.ts";
import { GlyphShape } from "./glyph-shape.tsx";
import type { GraphRows } from "./graph-rows.ts";
import type { PathPiece } from "./path.ts";
import classes from "./row-lanes.module.css";
import type { Glyph } from "./row-look.ts";

export const rowHeight = 28;
const middle = rowHeight / 2;
const pitch = 15;
const turn = 7;
/** Lanes beyond these are drawn as one. */
const mostLanes = 14;
const colours = 8;

export function lanesWidth(lanes: number): number {
  return (Math.min(Math.max(lanes, 3), mostLanes) + (lanes > mostLanes ? 3.2 : 0.4)) * pitch;
}

function x(lane: number): number {
  return ((lane < mostLanes ? lane : mostLanes + 0.3) + 0.7) * pitch;
}

interface Props {
  readonly rows: GraphRows;
  readonly row: number;
  readonly width: number;
  /** An event under its row: everything only passes. */
  readonly inner?: boolean;
  readonly glyph: Glyph;
  readonly main: PathPiece | undefined;
  readonly path: PathPiece | undefined;
}

export function RowLanes({ rows, row, width, inner = false, glyph, main, path }: Props) {
  const { lane, above, below } = rows.lanes(row);
  const hidden = (inner ? below : above).reduce((sum, one) => (one >= mostLanes ? sum + 1 : sum), 0);
  const after = below.reduce((sum, one) => (one >= mostLanes ? sum + 1 : sum), 0);
  return (
    <svg className={classes["lanes"]} width={width} height={rowHeight} aria-hidden="true" data-lanes="true">
      {linesOf(rows, row, inner).map(([look, d]) => (
        <path key={look} className={classes["line"]} data-lane={look} d={d} />
      ))}
      {after > 0 && <path className={classes["hidden"]} d={`M${x(mostLanes)} 0V${rowHeight}`} />}
      {(hidden !== after || lane >= mostLanes) && !inner && (
        <text className={classes["count"]} x={x(mostLanes) + 9} y={middle + 3.5}>
          +{Math.max(hidden, after)}
        </text>
      )}
      {main !== undefined && <path className={classes["main"]} data-lane={look(rows, row, main)} d={pieceOf(rows, row, main, inner)} />}
      {path !== undefined && (
        <path className={classes["path"]} data-way="true" data-lane={look(rows, row, path)} d={pieceOf(rows, row, path, inner)} />
      )}
      {inner ? (
        <circle className={classes["inner"]} data-lane={colourOf(lane)} cx={x(lane)} cy={middle} r="2.5" />
      ) : (
        <g className={classes["glyph"]} data-lane={colourOf(lane)} data-glyph={glyph} transform={`translate(${x(lane)} ${middle})`}>
          <GlyphShape glyph={glyph} />
        </g>
      )}
    </svg>
  );
}

function colourOf(lane: number): string {
  return String(lane % colours);
}

/** The colour of the lane that a way takes in a row. */
function look(rows: GraphRows, row: number, piece: PathPiece): string {
  return colourOf(piece.startsWith("pass") ? Number(piece.slice(5)) : rows.lanes(row).lane);
}

/** Lines that look alike are one path. */
function linesOf(rows: GraphRows, row: number, inner: boolean): readonly (readonly [string, string])[] {
  const { lane: own, above, below, links, begins, ends } = rows.lanes(row);
  const drawn = new Map<string, string>();
  const draw = (lane: number, d: string): void => {
    const name = `${colourOf(lane)}${rows.holder(lane, row)?.rejected === true ? " rejected" : ""}`;
    drawn.set(name, (drawn.get(name) ?? "") + d);
  };
  if (inner) {
    for (const lane of below) if (lane < mostLanes) draw(lane, `M${x(lane)} 0V${rowHeight}`);
    return [...drawn];
  }
  for (const lane of above) {
    if (lane >= mostLanes || lane === own) continue;
    const goes = below.includes(lane);
    if (goes) draw(lane, `M${x(lane)} 0V${rowHeight}`);
    else if (!links.some((link) => link.lane === lane)) draw(lane, `M${x(lane)} 0V${middle}`);
  }
  if (!begins && own < mostLanes) draw(own, `M${x(own)} 0V${middle}`);
  if (!ends && own < mostLanes) draw(own, `M${x(own)} ${middle}V${rowHeight}`);
  for (const link of links) if (link.lane !== own) draw(bendColour(link, own), bend(link.lane, own, below.includes(link.lane ?? -1)));
  return [...drawn];
}

/** What leaves for another branch has the colour of that branch; what comes back keeps its own. */
function bendColour({ kind, lane }: LaneLink, own: number): number {
  return kind === "merge" || kind === "adopt" || kind === "return" ? (lane ?? own) : own;
}

/** From a lane to the row's own; from one that is gone, a short line out of nowhere. */
function bend(from: number | undefined, to: number, goesOn: boolean): string {
  if (from === undefined) return `M${x(to)} ${middle - 9}V${middle}`;
  const side = from < to ? turn : -turn;
  return `M${x(from)} ${goesOn ? middle - turn : 0}V${middle - turn}q0 ${turn} ${side} ${turn}H${x(to)}`;
}

function pieceOf(rows: GraphRows, row: number, piece: PathPiece, inner: boolean): string {
  const [word, lane, goes] = piece.split(" ");
  if (word === "pass") return `M${x(Number(lane))} 0V${rowHeight}`;
  const own = rows.lanes(row).lane;
  const down = `M${x(own)} ${middle}V${rowHeight}`;
  if (inner) return goes === "on" ? `M${x(own)} 0V${rowHeight}` : "";
  const from = lane === "-" ? undefined : Number(lane);
  const up = from === undefined ? "" : from === own ? `M${x(own)} 0V${middle}` : bend(from, own, false);
  return `${up}${goes === "on" ? down : ""}`;
}
