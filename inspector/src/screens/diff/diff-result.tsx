/** All that differs, in one list of which only what is on screen is drawn. */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef, useState } from "react";
import type { DiffResource } from "../../../../src/client/client.ts";
import { count } from "../../../../src/wire/format.ts";
import { useKeys } from "../../shell/keys.ts";
import classes from "./diff.module.css";
import { type Entry, foldsOf, type Listed, listOf } from "./diff-list.ts";
import { sectionsOf } from "./diff-sections.ts";
import { DiffSummary } from "./diff-summary.tsx";
import { EventRow, FoldRow } from "./event-row.tsx";
import { SectionRow } from "./section-row.tsx";

const heights: Readonly<Record<Entry["type"], number>> = { summary: 420, heading: 44, row: 120, event: 28, fold: 28 };

export function DiffResult({ diff }: { readonly diff: DiffResource }) {
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const [chosen, choose] = useState(0);
  const sections = useMemo(() => sectionsOf(diff), [diff]);
  const { entries, places } = useMemo(() => listOf(diff.events, sections, open), [diff, sections, open]);
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: entries.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => heights[entries[index]?.type ?? "row"],
    overscan: 6,
    useFlushSync: false,
  });
  const go = (index: number, align: "auto" | "start" = "auto"): void => {
    const to = Math.max(0, Math.min(entries.length - 1, index));
    choose(to);
    virtual.scrollToIndex(to, { align });
  };
  const jump = useJump(places, (at) => go(at, "start"));
  const beside = (by: 1 | -1): void => {
    const next = by > 0 ? places.find(({ at }) => at > chosen) : places.findLast(({ at }) => at < chosen);
    if (next !== undefined) jump(next.section);
    else if (by < 0) go(0);
  };
  useKeys([
    { keys: "j", does: "next row", act: () => go(chosen + 1) },
    { keys: "k", does: "row before", act: () => go(chosen - 1) },
    { keys: "]", does: "next section", act: () => beside(1) },
    { keys: "[", does: "section before", act: () => beside(-1) },
  ]);
  const fold = (from: number): void => {
    const changed = new Set(open);
    if (!changed.delete(from)) changed.add(from);
    setOpen(changed);
  };
  const allOpen = open.size > 0;
  return (
    <>
      <nav className={classes["jump"]} aria-label="Sections of the comparison">
        <button type="button" data-look="plain" onClick={() => go(0)}>
          Summary
        </button>
        {places.map(({ section, title, count: number }) => (
          <button type="button" data-look="plain" key={section} onClick={() => jump(section)}>
            {title} <span className={classes["count"]}>{count(number)}</span>
          </button>
        ))}
        {diff.events.some(({ relation }) => relation === "same") && (
          <button
            type="button"
            data-look="plain"
            className={classes["last"]}
            onClick={() => setOpen(allOpen ? new Set() : foldsOf(diff.events))}
          >
            {allOpen ? "Fold what is the same" : "Show what is the same"}
          </button>
        )}
      </nav>
      <div className={classes["scroller"]} ref={scroller}>
        <div className={classes["canvas"]} style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, key, start }) => (
            <div
              key={key}
              ref={virtual.measureElement}
              data-index={index}
              className={classes["entry"]}
              data-chosen={index === chosen && index > 0}
              style={{ transform: `translateY(${start}px)` }}
            >
              <EntryView diff={diff} entry={entries[index]} fold={fold} />
            </div>
          ))}
        </div>
      </div>
    </>
  );
}

/** Goes to a section, and says so in the address; the one that the address names is gone to at first. */
function useJump(places: Listed["places"], go: (at: number) => void): (section: string) => void {
  const { section } = useSearch({ strict: false });
  const navigate = useNavigate();
  const first = useRef(section);
  const jump = (to: string): void => {
    const place = places.find((one) => one.section === to);
    if (place !== undefined) go(place.at);
  };
  const jumpFirst = useRef(jump);
  jumpFirst.current = jump;
  useEffect(() => {
    if (first.current === undefined) return;
    const frame = requestAnimationFrame(() => jumpFirst.current(first.current ?? ""));
    return () => cancelAnimationFrame(frame);
  }, []);
  return (to) => {
    jump(to);
    void navigate({ to: "/diff", search: (kept) => ({ ...kept, section: to }), replace: true });
  };
}

interface EntryProps {
  readonly diff: DiffResource;
  readonly entry: Entry | undefined;
  readonly fold: (from: number) => void;
}

function EntryView({ diff, entry, fold }: EntryProps) {
  switch (entry?.type) {
    case "summary":
      return <DiffSummary diff={diff} />;
    case "heading":
      return (
        <h2 className={classes["heading"]}>
          {entry.title} <span className={classes["count"]}>{count(entry.count)}</span>
        </h2>
      );
    case "row":
      return <SectionRow row={entry.row} a={diff.a.session} b={diff.b.session} />;
    case "event":
      return <EventRow both={diff.events[entry.index]} />;
    case "fold":
      return <FoldRow count={entry.to - entry.from} open={entry.open} toggle={() => fold(entry.from)} />;
    default:
      return null;
  }
}
