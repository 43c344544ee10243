/** Events one below the other, of which only those on screen are in the page. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useLayoutEffect, useMemo, useRef } from "react";
import { count, shortEvent } from "../../../../src/wire/format.ts";
import { neutral } from "../../../../src/wire/neutral.ts";
import { placeAmong } from "../../lineage/branch-rows.ts";
import { useEventLines } from "../../lineage/event-lines.ts";
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
  const isAtEnd = useRef(chosen < 0);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12,
  });
  const shown = virtual.getVirtualItems();
  const lineOf = useEventLines(shown.map(({ index }) => lineage.id(rows[index] ?? -1)));
  // biome-ignore lint/correctness/useExhaustiveDependencies: where it begins, once
  useLayoutEffect(() => {
    if (chosen >= 0) virtual.scrollToIndex(chosen, { align: "center" });
    else virtual.scrollToIndex(rows.length - 1, { align: "end" });
  }, []);
  // Whoever is at the end stays there; whoever reads something else is not moved.
  // biome-ignore lint/correctness/useExhaustiveDependencies: it follows what was added
  useEffect(() => {
    if (isAtEnd.current) virtual.scrollToIndex(rows.length - 1, { align: "end" });
  }, [rows.length]);
  // The address names another event, or other events are shown.
  const first = useRef(chosen);
  useEffect(() => {
    if (chosen === first.current) return;
    first.current = chosen;
    if (chosen >= 0) virtual.scrollToIndex(chosen);
  }, [chosen, virtual]);
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
      <div className={classes["names"]} aria-hidden="true">
        <span className="number">step</span>
        <span>time</span>
        <span>branch</span>
        <span>kind</span>
        <span>what it says</span>
        <span>by</span>
        <span>id</span>
      </div>
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
            const trouble = lineage.trouble(row);
            const line = lineOf(id);
            return (
              <li
                key={id}
                className={classes["row"]}
                style={{ transform: `translateY(${start}px)` }}
                aria-posinset={index + 1}
                aria-setsize={rows.length}
              >
                <button type="button" aria-current={index === chosen ? "true" : undefined} onClick={() => choose(index)}>
                  <span className="number quiet">{count(lineage.step(row))}</span>
                  <span className={`${classes["time"]} quiet`}>{timeOf(lineage.at(row))}</span>
                  <span className="given clip quiet">{nameOf(lineage.branch(row))}</span>
                  <span className="clip">
                    {lineage.kind(row)} {trouble !== undefined && <StatusBadge status={trouble} />}
                  </span>
                  <span className="given clip">{line === undefined ? "" : neutral(line)}</span>
                  <span className="given clip quiet">{lineage.by(row)}</span>
                  <span className={`${classes["id"]} quiet`}>{shortEvent(id)}</span>
                </button>
              </li>
            );
          })}
        </ol>
      </div>
    </div>
  );
}

/** Hours to milliseconds, where whoever looks is. */
function timeOf(at: number): string {
  const date = new Date(at);
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}
