/** Events one below the other, of which only those on screen are in the page. */
import { useVirtualizer, type Virtualizer } from "@tanstack/react-virtual";
import { type RefObject, useEffect, useLayoutEffect, useMemo, useRef } from "react";
import { count, shortEvent } from "../../../../src/wire/format.ts";
import { neutral } from "../../../../src/wire/neutral.ts";
import { placeAmong } from "../../lineage/branch-rows.ts";
import { useEventLines } from "../../lineage/event-lines.ts";
import type { Lineage } from "../../lineage/lineage.ts";
import { useLineage } from "../../lineage/use-lineage.tsx";
import { StatusBadge } from "../../parts/badge.tsx";
import { useBranches } from "../../session/use-branches.ts";
import type { LookedPlace } from "../../session/use-place.ts";
import { useKeys } from "../../shell/keys.ts";
import classes from "./raw.module.css";

const rowHeight = 26;
const nearEnd = 40;

export function RawLog({ rows, place }: { readonly rows: readonly number[]; readonly place: LookedPlace }) {
  const { lineage } = useLineage();
  const { nameOf } = useBranches();
  const scroller = useRef<HTMLDivElement>(null);
  const chosen = useMemo(() => (place.chosen === undefined ? -1 : placeAmong(rows, place.chosen)), [rows, place.chosen]);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12,
  });
  const shown = virtual.getVirtualItems();
  const lineOf = useEventLines(shown.map(({ index }) => lineage.id(rows[index] ?? -1)));
  const isAtEnd = useScrolled(virtual, rows.length, chosen);
  const choose = (index: number): void => {
    const row = rows[Math.min(rows.length - 1, Math.max(0, index))];
    if (row === undefined) return;
    isAtEnd.current = false;
    place.change({ at: lineage.id(row) });
  };
  useKeys([
    { keys: "j", does: "next event", act: () => choose(chosen < 0 ? rows.length - 1 : chosen + 1) },
    { keys: "k", does: "event before", act: () => choose(chosen < 0 ? rows.length - 1 : chosen - 1) },
  ]);
  return (
    <div className={classes["logPane"]}>
      <ColumnNames />
      <div
        ref={scroller}
        className={classes["log"]}
        onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
          isAtEnd.current = chosen < 0 && scrollHeight - scrollTop - clientHeight < nearEnd;
        }}
      >
        <ol className={classes["rows"]} style={{ height: virtual.getTotalSize() }} aria-label="Events">
          {shown.map(({ index, start }) => {
            const row = rows[index] ?? -1;
            const id = lineage.id(row);
            return (
              <li
                key={id}
                className={classes["row"]}
                style={{ transform: `translateY(${start}px)` }}
                aria-posinset={index + 1}
                aria-setsize={rows.length}
              >
                <button type="button" aria-current={index === chosen ? "true" : undefined} onClick={() => choose(index)}>
                  <EventCells lineage={lineage} row={row} line={lineOf(id)} branch={nameOf(lineage.branch(row))} />
                </button>
              </li>
            );
          })}
        </ol>
      </div>
    </div>
  );
}

/** What is looked at as the log begins, grows and is led elsewhere. Gives whether that is the end. */
function useScrolled(virtual: Virtualizer<HTMLDivElement, Element>, length: number, chosen: number): RefObject<boolean> {
  const isAtEnd = useRef(chosen < 0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: where it begins, once
  useLayoutEffect(() => {
    if (chosen >= 0) virtual.scrollToIndex(chosen, { align: "center" });
    else virtual.scrollToIndex(length - 1, { align: "end" });
  }, []);
  // Whoever is at the end stays there; whoever reads something else is not moved.
  // biome-ignore lint/correctness/useExhaustiveDependencies: it follows what was added
  useEffect(() => {
    if (isAtEnd.current) virtual.scrollToIndex(length - 1, { align: "end" });
  }, [length]);
  // The address names another event, or other events are shown.
  const first = useRef(chosen);
  useEffect(() => {
    if (chosen === first.current) return;
    first.current = chosen;
    if (chosen >= 0) virtual.scrollToIndex(chosen);
  }, [chosen, virtual]);
  return isAtEnd;
}

function ColumnNames() {
  return (
    <div className={classes["names"]} aria-hidden="true">
      <span className="number">step</span>
      <span>time</span>
      <span>branch</span>
      <span>kind</span>
      <span>what it says</span>
      <span>by</span>
      <span>id</span>
    </div>
  );
}

interface CellsProps {
  readonly lineage: Lineage;
  readonly row: number;
  /** Undefined: not known yet. */
  readonly line: string | undefined;
  readonly branch: string;
}

function EventCells({ lineage, row, line, branch }: CellsProps) {
  const trouble = lineage.trouble(row);
  return (
    <>
      <span className="number quiet">{count(lineage.step(row))}</span>
      <span className={`${classes["time"]} quiet`}>{timeOf(lineage.at(row))}</span>
      <span className="given clip quiet">{branch}</span>
      <span className="clip">
        {lineage.kind(row)} {trouble !== undefined && <StatusBadge status={trouble} />}
      </span>
      <span className="given clip">{line === undefined ? "" : neutral(line)}</span>
      <span className="given clip quiet">{lineage.by(row)}</span>
      <span className={`${classes["id"]} quiet`}>{shortEvent(lineage.id(row))}</span>
    </>
  );
}

/** Hours to milliseconds, where whoever looks is. */
function timeOf(at: number): string {
  const date = new Date(at);
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}
