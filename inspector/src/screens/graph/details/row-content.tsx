/** What the events of a row say: results with the calls they belong to. */
import { useState } from "react";
import { plural } from "../../../../../src/wire/format.ts";
import type { GraphRows } from "../graph-rows.ts";
import type { Decisions } from "../row-look.ts";
import type { Shown } from "../shown-rows.ts";
import classes from "./details.module.css";
import { EventContent } from "./event-content.tsx";

const most = 16;

interface Props {
  readonly rows: GraphRows;
  readonly shown: Shown;
  readonly decisions: Decisions;
}

export function RowContent({ rows, shown, decisions }: Props) {
  const [all, setAll] = useState(false);
  const events = shown.event === undefined ? tellingOf(rows, shown.row) : [shown.event];
  const told = all ? events : events.slice(0, most);
  return (
    <div className={classes["content"]}>
      {told.map((event) => (
        <EventContent
          key={event}
          id={rows.lineage.id(event)}
          kind={rows.lineage.kind(event)}
          decided={decisions.has(rows.turns.of(event))}
        />
      ))}
      {events.length > told.length && (
        <button type="button" onClick={() => setAll(true)}>
          Show {plural(events.length - told.length, "more event")}
        </button>
      )}
    </div>
  );
}

/** Each call with its result after it; marks that say nothing by themselves are left out, unless there is nothing else. */
function tellingOf({ turns, lineage }: GraphRows, row: number): readonly number[] {
  const events = turns.events(row);
  const results = new Map<number, number[]>();
  for (const event of events) {
    if (!lineage.kind(event).endsWith(".returned")) continue;
    const call = lineage.callBehind(event);
    results.set(call, [...(results.get(call) ?? []), event]);
  }
  const paired = new Set([...results].flatMap(([call, found]) => (turns.of(call) === row ? found : [])));
  const telling = events
    .filter((event) => !paired.has(event) && !/^workflow\.|\.started$/.test(lineage.kind(event)))
    .flatMap((event) => {
      const answers = results.get(event) ?? [];
      // Which model was asked stands in its answer too.
      return lineage.kind(event) === "model.called" && answers.length > 0 ? answers : [event, ...answers];
    });
  return telling.length === 0 ? events : telling;
}
