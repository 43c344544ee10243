/** One list of all that a diff shows, so that only what is on screen is drawn: headings, rows, and events whose equal ones are folded. */
import type { DiffResource } from "../../../../src/client/client.ts";
import type { Row, Section, SectionName } from "./diff-sections.ts";

export type Entry =
  | { readonly type: "summary" }
  | { readonly type: "heading"; readonly section: SectionName; readonly title: string; readonly count: number }
  | { readonly type: "row"; readonly section: SectionName; readonly row: Row }
  | { readonly type: "event"; readonly index: number }
  /** Events of both sides that are the same, from one to before another. */
  | { readonly type: "fold"; readonly from: number; readonly to: number; readonly open: boolean };

export interface Listed {
  readonly entries: readonly Entry[];
  /** Where each section begins. */
  readonly places: readonly { readonly section: SectionName; readonly title: string; readonly count: number; readonly at: number }[];
}

/** Fewer equal events in a row are shown as they are. */
const fewest = 3;

/** `open`: the folds, by their first event, that were opened. */
export function listOf(events: DiffResource["events"], sections: readonly Section[], open: ReadonlySet<number>): Listed {
  const entries: Entry[] = [{ type: "summary" }];
  const places: Listed["places"][number][] = [];
  const begin = (section: SectionName, title: string, count: number): void => {
    places.push({ section, title, count, at: entries.length });
    entries.push({ type: "heading", section, title, count });
  };
  for (const { name, title, rows } of sections) {
    begin(name, title, rows.length);
    for (const row of rows) entries.push({ type: "row", section: name, row });
  }
  if (events.length > 0) {
    begin("events", "Events", events.filter(({ relation }) => relation !== "same").length);
    addEvents(events, open, entries);
  }
  return { entries, places };
}

function addEvents(events: DiffResource["events"], open: ReadonlySet<number>, entries: Entry[]): void {
  for (let from = 0; from < events.length; ) {
    let to = from;
    while (to < events.length && events[to]?.relation === "same") to++;
    const folds = to - from >= fewest;
    if (folds) entries.push({ type: "fold", from, to, open: open.has(from) });
    const last = to === from ? from + 1 : to;
    if (!folds || open.has(from)) for (let index = from; index < last; index++) entries.push({ type: "event", index });
    from = last;
  }
}

/** Every fold there is. */
export function foldsOf(events: DiffResource["events"]): ReadonlySet<number> {
  const folds = new Set<number>();
  for (let index = 0; index < events.length; index++)
    if (events[index]?.relation === "same" && events[index - 1]?.relation !== "same") folds.add(index);
  return folds;
}
