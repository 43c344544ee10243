/** The escape hatch: every event of the lineage as it is on record. */
import { useMemo, useRef } from "react";
import { count } from "../../../../src/wire/format.ts";
import { useAct } from "../../actions/actions.tsx";
import type { Lineage } from "../../lineage/lineage.ts";
import { useLineage } from "../../lineage/use-lineage.tsx";
import { Empty } from "../../parts/empty.tsx";
import { usePlace } from "../../session/use-place.ts";
import classes from "./raw.module.css";
import { RawEvent } from "./raw-event.tsx";
import { RawFilters } from "./raw-filters.tsx";
import { RawLog } from "./raw-log.tsx";
import { choicesIn, type RawFilter, type RawRows, rowsOf } from "./raw-rows.ts";
import { useFound } from "./use-found.ts";

export function RawScreen() {
  const { lineage, version } = useLineage();
  const place = usePlace();
  const act = useAct();
  const { kind, by, on, q } = place.search;
  const found = useFound(lineage.session, q, version);
  const hits = found.events;
  const known = useRef<{ readonly lineage: Lineage; readonly filter: RawFilter; readonly listed: RawRows }>(undefined);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the lineage grows in place, and its version says so
  const { rows } = useMemo(() => {
    const wanted = { kind, by, branch: on, found: q === undefined || q === "" ? undefined : hits };
    const before = known.current;
    const isSame =
      before?.lineage === lineage && (Object.keys(wanted) as (keyof RawFilter)[]).every((name) => before.filter[name] === wanted[name]);
    const listed = rowsOf(lineage, wanted, isSame ? before.listed : undefined);
    known.current = { lineage, filter: wanted, listed };
    return listed;
  }, [lineage, version, kind, by, on, q, hits]);
  const choices = useMemo(() => choicesIn(lineage), [lineage, lineage.kinds.length, lineage.writers.length]);
  return (
    <div className={classes["screen"]}>
      <div className={classes["bar"]}>
        <RawFilters choices={choices} search={place.search} change={place.change} />
        <span className="quiet small number" role="status">
          {found.isLooking ? "looking…" : `${count(rows.length)} of ${count(lineage.count)} events`}
          {found.isCut && ", the first places that were found"}
          {lineage.cut > 0 && `; ${count(lineage.cut)} older ones are not shown`}
        </span>
        <button type="button" className={classes["all"]} onClick={() => act({ verb: "export", place: { session: lineage.session } })}>
          Export all…
        </button>
      </div>
      {found.problem !== undefined && (
        <p className={classes["problem"]} role="alert">
          {found.problem}
        </p>
      )}
      <div className={classes["panes"]}>
        {rows.length === 0 ? (
          <Empty title={found.isLooking ? "Looking…" : "No event is like this"}>
            <button type="button" onClick={() => place.change({ kind: undefined, by: undefined, on: undefined, q: undefined })}>
              Show all events
            </button>
          </Empty>
        ) : (
          <RawLog rows={rows} place={place} />
        )}
        <RawEvent id={place.chosen === undefined ? undefined : lineage.id(place.chosen)} />
      </div>
    </div>
  );
}
