/** What was the state at this moment? */
import { useEffect, useMemo, useRef, useState } from "react";
import { branchRows, placeAmong } from "../../lineage/branch-rows.ts";
import { Empty } from "../../parts/empty.tsx";
import { type LookedPlace, usePlace } from "../../session/use-place.ts";
import { useKeys } from "../../shell/keys.ts";
import { EventThen } from "./event-then.tsx";
import { FilesThen } from "./files-then.tsx";
import { MemoryThen } from "./memory-then.tsx";
import { type Moment, nextMoment } from "./moments.ts";
import classes from "./scrubber.module.css";
import { Slider } from "./slider.tsx";
import { StateThen } from "./state-then.tsx";
import { WhoWrote } from "./who-wrote.tsx";

export function ScrubberScreen() {
  const place = usePlace();
  const { lineage, version, branch, row } = place;
  // An event of another branch is looked at on its own branch.
  const looked = row === undefined ? branch : onBranch(place, row);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the lineage is the same object when it goes on; the version says that it did
  const rows = useMemo(() => branchRows(lineage, looked), [lineage, looked, version]);
  const settled = row === undefined ? -1 : placeAmong(rows, row);
  const [at, slide] = useSliding(place, looked, rows, settled);
  const step = (moment: Moment, by: 1 | -1): void => {
    const to = nextMoment(lineage, rows, { from: at, moment, by });
    if (to !== undefined) slide(to);
  };
  useKeys([
    { keys: "[", does: "event before", act: () => step("event", -1) },
    { keys: "]", does: "next event", act: () => step("event", 1) },
    { keys: "{", does: "turn before", act: () => step("turn", -1) },
    { keys: "}", does: "next turn", act: () => step("turn", 1) },
    { keys: "x", does: "next that went wrong", act: () => step("error", 1) },
    { keys: "X", does: "what went wrong before", act: () => step("error", -1) },
    { keys: "n", does: "next write", act: () => step("write", 1) },
    { keys: "N", does: "write before", act: () => step("write", -1) },
  ]);
  if (rows.length === 0 || settled < 0)
    return (
      <Empty title="There is no such event in this session">
        <button type="button" onClick={() => place.go(undefined)}>
          To the newest
        </button>
      </Empty>
    );
  const shown = rows[at] ?? row ?? 0;
  return (
    <div className={classes["screen"]}>
      <Slider
        lineage={lineage}
        rows={rows}
        at={at}
        branch={looked}
        slide={slide}
        step={step}
        isNewest={!place.named}
        newest={() => place.go(undefined)}
      />
      <div className={classes["panes"]}>
        <EventThen lineage={lineage} row={shown} />
        <StateThen place={place} rows={rows} at={settled} isSliding={at !== settled} />
        <MemoryThen lineage={lineage} branch={looked} rows={rows} at={settled} />
        <FilesThen place={place} />
        <WhoWrote place={place} />
      </div>
    </div>
  );
}

/** The branch that is asked for, if the event lies on it; else that of the event. */
function onBranch({ lineage, branch }: LookedPlace, row: number): string {
  return placeAmong(branchRows(lineage, branch), row) >= 0 ? branch : lineage.branch(row);
}

const settleMs = 120;

/** Where the slider stands: at once while it is moved; the address and what is asked follow when it rests. */
function useSliding(place: LookedPlace, branch: string, rows: readonly number[], settled: number): readonly [number, (to: number) => void] {
  const [sliding, setSliding] = useState<number>();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const sent = useRef<number>(undefined);
  const { named, go } = place;
  useEffect(() => () => clearTimeout(timer.current), []);
  useEffect(() => {
    // It comes to rest where it was moved to. Moved on meanwhile it goes on; an address that somebody else wrote counts at once.
    const isOwn = settled === sent.current || !named;
    if (isOwn && timer.current !== undefined) return;
    clearTimeout(timer.current);
    timer.current = undefined;
    setSliding(undefined);
  }, [settled, named]);
  const slide = (to: number): void => {
    setSliding(to);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      timer.current = undefined;
      sent.current = to;
      go(rows[to], { replace: true, branch });
    }, settleMs);
  };
  return [sliding ?? settled, slide];
}
