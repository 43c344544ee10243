/** Where an action happens, in words. */
import { count } from "../../../src/wire/format.ts";
import { useEventLines } from "../lineage/event-lines.ts";
import { useLineage } from "../lineage/use-lineage.tsx";
import { shortId } from "../parts/short-id.ts";
import type { Place } from "./action.ts";
import classes from "./actions.module.css";

export function PlaceLine({ place }: { readonly place: Place }) {
  const { lineage } = useLineage();
  const row = place.event === undefined ? lineage.newestOn(place.session) : lineage.rowOf(place.event);
  const id = row === undefined ? "" : lineage.id(row);
  const line = useEventLines(id === "" ? [] : [id])(id);
  return (
    <div className={classes["place"]}>
      <span className="quiet">
        {place.event === undefined ? "newest event" : "event"} of <code>{shortId(place.session)}</code>
        {row !== undefined && `, step ${count(lineage.step(row))}`}
      </span>
      <p className="given">{line ?? (row === undefined ? "" : lineage.kind(row))}</p>
    </div>
  );
}
