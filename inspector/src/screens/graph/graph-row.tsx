/** One row of the graph: its lanes, who did it, what it is, and what it took. */
import { memo } from "react";
import { count, money, seconds } from "../../../../src/wire/format.ts";
import { neutral } from "../../../../src/wire/neutral.ts";
import { agentName } from "../../parts/agent-name.ts";
import { Badge } from "../../parts/badge.tsx";
import { Icon } from "../../parts/icon.tsx";
import { openCall } from "../../session/open-call.ts";
import { OpenBadge } from "../../session/open-calls.tsx";
import classes from "./graph-row.module.css";
import type { GraphRows } from "./graph-rows.ts";
import type { PathPiece } from "./path.ts";
import { RowLanes } from "./row-lanes.tsx";
import { type Glyph, glyphWords, kindWords } from "./row-look.ts";

interface Props {
  readonly rows: GraphRows;
  readonly row: number;
  /** One of its events, under it. */
  readonly event: number | undefined;
  /** Changes when the row grows, or lines change their look. */
  readonly stamp: string;
  readonly width: number;
  readonly glyph: Glyph;
  readonly line: string | undefined;
  readonly main: PathPiece | undefined;
  readonly path: PathPiece | undefined;
  readonly chosen: boolean;
  readonly unfolded: boolean;
  readonly hit: boolean;
  readonly won: boolean;
  readonly atWork: boolean;
  readonly place: number;
  readonly total: number;
}

const longest = 300;

export const GraphRow = memo(function GraphRow(props: Props) {
  const { rows, row, event, glyph, line, chosen, unfolded, place, total, hit, won, atWork, width, main, path } = props;
  const { turns, lineage } = rows;
  const inner = event !== undefined;
  const shown = event ?? turns.said(row);
  const foldable = !inner && turns.size(row) > 1;
  const trouble = inner ? lineage.trouble(event) : turns.trouble(row);
  const source = inner ? undefined : rows.source(row);
  return (
    <div
      className={classes["row"]}
      id={inner ? `event-${event}` : `row-${row}`}
      role="treeitem"
      aria-level={inner ? 2 : 1}
      aria-posinset={place + 1}
      aria-setsize={total}
      aria-selected={chosen}
      aria-expanded={foldable ? unfolded : undefined}
      tabIndex={-1}
      data-row={row}
      data-event={event}
      data-inner={inner}
      data-quiet={rows.branchOf(row)?.rejected === true || glyph === "quiet"}
      data-hit={hit}
      data-path={path?.startsWith("at") === true}
    >
      <RowLanes rows={rows} row={row} width={width} inner={inner} glyph={glyph} main={main} path={path} />
      <span className={classes["fold"]} data-fold={foldable} aria-hidden="true">
        {foldable && <Icon name={unfolded ? "shut" : "open"} />}
      </span>
      <span className={`${classes["agent"]} given clip`}>{neutral(agentName(lineage.by(shown)).slice(0, 60))}</span>
      <span className={classes["what"]}>
        {!inner && glyph !== "turn" && <span className="unseen">{glyphWords[glyph]}: </span>}
        <span className="given clip">{line === undefined ? kindWords(lineage.kind(shown)) : neutral(line.slice(0, longest))}</span>
        {trouble !== undefined && <Badge tone={trouble === "unknown" ? "warn" : "bad"}>{trouble}</Badge>}
        {source !== undefined && <Badge>from step {source}</Badge>}
        {won && <Badge tone="ok">won</Badge>}
        {(glyph === "waiting" || (!inner && turns.isOpen(row))) && <OpenBadge stands={openCall(glyph === "waiting", atWork)} />}
      </span>
      <RowFigures rows={rows} row={row} event={event} />
      <time className={classes["time"]} dateTime={new Date(lineage.at(shown)).toISOString()}>
        {clock(lineage.at(shown))}
      </time>
    </div>
  );
});

function RowFigures({ rows, row, event }: Pick<Props, "rows" | "row" | "event">) {
  const spent = event === undefined ? undefined : rows.lineage.spent(event);
  const { tokens, usd, ms } =
    event === undefined
      ? rows.turns.figures(row)
      : { tokens: (spent?.input ?? 0) + (spent?.output ?? 0), usd: spent?.usd ?? 0, ms: spent?.ms ?? 0 };
  return (
    <>
      <span className={classes["figure"]} data-figure="tokens">
        {tokens === 0 ? "" : count(tokens)}
      </span>
      <span className={classes["figure"]} data-figure="cost">
        {usd === 0 ? "" : money(usd)}
      </span>
      <span className={classes["figure"]} data-figure="time">
        {ms < 1 ? "" : seconds(ms)}
      </span>
    </>
  );
}

/** Heads of the columns. */
export function GraphHead({ width }: { readonly width: number }) {
  return (
    <div className={classes["head"]} aria-hidden="true">
      <span style={{ width }} />
      <span className={classes["fold"]} />
      <span className={classes["agent"]}>agent</span>
      <span className={classes["what"]}>what</span>
      <span className={classes["figure"]} data-figure="tokens">
        tokens
      </span>
      <span className={classes["figure"]} data-figure="cost">
        cost
      </span>
      <span className={classes["figure"]} data-figure="time">
        took
      </span>
      <span className={classes["time"]}>at</span>
    </div>
  );
}

const two = (value: number): string => String(value).padStart(2, "0");

function clock(at: number): string {
  const date = new Date(at);
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}
