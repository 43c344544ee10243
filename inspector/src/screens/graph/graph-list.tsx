/** The rows in sight. What is added below moves nothing; the way from the row that somebody looks at to the first one stands out. */
import { type PointerEvent, type RefObject, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useEventLines } from "../../lineage/event-lines.ts";
import classes from "./graph-list.module.css";
import { GraphHead, GraphRow } from "./graph-row.tsx";
import { Path } from "./path.ts";
import { lanesWidth, rowHeight } from "./row-lanes.tsx";
import { glyphOf, glyphOfKind, verdictOf } from "./row-look.ts";
import type { Shown, ShownRows } from "./shown-rows.ts";
import type { Graph } from "./use-graph.ts";
import { useWindow } from "./use-window.ts";
import "./lane-colours.css";

interface Props {
  readonly graph: Graph;
  readonly shown: ShownRows;
  readonly chosen: Shown | undefined;
  readonly byKey: boolean;
  readonly hits: ReadonlySet<number>;
  readonly box: RefObject<HTMLDivElement | null>;
  readonly choose: (shown: Shown) => void;
  readonly fold: (row: number) => void;
  readonly setFocused: (focused: boolean) => void;
  /** Somebody moves the pointer: it shows the way, not the key pressed last. */
  readonly pointed: () => void;
}

export function GraphList({ graph, shown, chosen, byKey, hits, box, choose, fold, setFocused, pointed }: Props) {
  const { rows, main, branchNamed, decisions, isAtWork } = graph;
  const { turns, lineage } = rows;
  const { from, to } = useWindow(box, shown.count, rowHeight);
  const [hovered, setHovered] = useState<number>();
  const looked = byKey ? chosen?.row : hovered;
  const path = useMemo(() => (looked === undefined || looked >= rows.count ? undefined : new Path(rows, looked)), [rows, looked]);
  const items = Array.from({ length: Math.max(0, to - from) }, (_, index) => shown.at(from + index));
  const lines = useEventLines(items.map(({ row, event }) => lineage.id(event ?? turns.said(row))));
  useAnchor(box, shown, from);
  const width = lanesWidth(rows.width);
  const pointer = useRef("");
  const hover = (event: PointerEvent): void => {
    // Rows that scroll by under a pointer at rest are not looked at.
    const place = `${event.clientX} ${event.clientY}`;
    if (place === pointer.current) return;
    pointer.current = place;
    setHovered(rowUnder(event.target)?.row);
    pointed();
  };
  return (
    <div className={classes["graph"]}>
      <GraphHead width={width} />
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the keys of the screen do the same, wherever the focus is */}
      <div
        ref={box}
        className={classes["list"]}
        role="tree"
        aria-label="Turns of all branches"
        tabIndex={0}
        aria-activedescendant={chosen === undefined ? undefined : nameOf(chosen, shown)}
        data-way={path !== undefined}
        onFocus={() => setFocused(true)}
        onBlur={() => setFocused(false)}
        onPointerMove={hover}
        onScroll={() => setHovered(undefined)}
        onPointerLeave={() => setHovered(undefined)}
        onClick={(event) => {
          const under = rowUnder(event.target);
          if (under === undefined) return;
          // Rows come and go while one scrolls; the list stays.
          box.current?.focus({ preventScroll: true });
          if ((event.target as Element).closest('[data-fold="true"]') !== null) fold(under.row);
          else choose(under);
        }}
      >
        <div style={{ height: shown.count * rowHeight }}>
          <div style={{ transform: `translateY(${from * rowHeight}px)` }}>
            {items.map(({ row, event }, index) => (
              <GraphRow
                key={event === undefined ? `row ${row}` : `event ${event}`}
                rows={rows}
                row={row}
                event={event}
                stamp={`${turns.size(row)} ${turns.isOpen(row)} ${rows.rejections} ${lineage.sessions.length}`}
                width={width}
                glyph={
                  event === undefined ? glyphOf(rows, row, decisions) : (verdictOf(lineage, event) ?? glyphOfKind(lineage.kind(event)))
                }
                line={lines(lineage.id(event ?? turns.said(row)))}
                main={main.through(row)}
                path={path?.through(row)}
                chosen={chosen?.row === row && chosen.event === event}
                unfolded={shown.isUnfolded(row)}
                hit={hits.size > 0 && (event === undefined ? turns.events(row).some((one) => hits.has(one)) : hits.has(event))}
                atWork={isAtWork}
                won={rows.lanes(row).begins && branchNamed.get(lineage.branch(turns.first(row)))?.won === true}
                place={from + index}
                total={shown.count}
              />
            ))}
          </div>
        </div>
      </div>
      <NewBelow box={box} count={rows.count} height={shown.count * rowHeight} />
    </div>
  );
}

function nameOf({ row, event }: Shown, shown: ShownRows): string {
  return event !== undefined && shown.isUnfolded(row) ? `event-${event}` : `row-${row}`;
}

function rowUnder(target: EventTarget): Shown | undefined {
  const element = (target as Element).closest<HTMLElement>("[data-row]");
  if (element === null) return undefined;
  const { row, event } = element.dataset;
  return event === undefined ? { row: Number(row) } : { row: Number(row), event: Number(event) };
}

/** An unfolded row above may grow: what is in sight stays where it is. */
function useAnchor(box: RefObject<HTMLDivElement | null>, shown: ShownRows, from: number): void {
  const seen = useRef({ shown, from });
  useLayoutEffect(() => {
    const before = seen.current;
    seen.current = { shown, from };
    const element = box.current;
    if (element === null || before.shown === shown) return;
    const top = Math.floor(element.scrollTop / rowHeight);
    if (top === 0 || top >= before.shown.count) return;
    const moved = shown.indexOf(before.shown.at(top)) - top;
    if (moved !== 0) element.scrollTop += moved * rowHeight;
  });
}

interface BelowProps {
  readonly box: Props["box"];
  /** Rows there are, and the height of all that is shown. */
  readonly count: number;
  readonly height: number;
}

/** Says that something came below, and goes there for whoever wants to. */
function NewBelow({ box, count, height }: BelowProps) {
  const [known, setKnown] = useState(count);
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const look = (): void => {
      if (element.scrollTop + element.clientHeight >= height - 2) setKnown(count);
    };
    look();
    element.addEventListener("scroll", look, { passive: true });
    return () => element.removeEventListener("scroll", look);
  }, [box, count, height]);
  if (count <= known) return null;
  return (
    <button type="button" className={classes["new"]} onClick={() => box.current?.scrollTo({ top: height })}>
      {count - known} new below
    </button>
  );
}
