/** Moving about in the graph: what is chosen, what is unfolded, what was searched for, and bringing it into sight. */
import { useNavigate } from "@tanstack/react-router";
import { type RefObject, useCallback, useMemo, useState } from "react";
import { useClient } from "../../client.tsx";
import { say, sayFailure } from "../../shell/toasts.tsx";
import { rowHeight } from "./row-lanes.tsx";
import { type Shown, ShownRows } from "./shown-rows.ts";
import { type Chosen, useChosen } from "./use-chosen.ts";
import type { Graph } from "./use-graph.ts";
import { type Hits, useHits } from "./use-hits.ts";

export interface Walk extends Chosen {
  readonly shown: ShownRows;
  /** Chooses, and brings into sight. */
  readonly go: (shown: Shown) => void;
  /** Goes to an event, wherever it is. */
  readonly goToEvent: (id: string) => void;
  /** Unfolds a row, or folds it. */
  readonly fold: (row: number) => void;
  /** The last move was made with a key: the way to the first row is shown. */
  readonly byKey: boolean;
  readonly setByKey: (byKey: boolean) => void;
  /** The list has the focus. */
  readonly focused: boolean;
  readonly setFocused: (focused: boolean) => void;
  readonly search: {
    readonly open: boolean;
    readonly found: Hits;
    readonly current: number;
    readonly show: () => void;
    readonly ask: (text: string) => void;
    readonly go: (index: number) => void;
    readonly close: () => void;
  };
}

export function useWalk(graph: Graph, box: RefObject<HTMLDivElement | null>, asked: string): Walk {
  const { rows, main, version } = graph;
  const { lineage, turns } = rows;
  const { project } = useClient();
  const navigate = useNavigate();
  const [unfolded, setUnfolded] = useState<ReadonlySet<number>>(new Set());
  const [byKey, setByKey] = useState(false);
  const [focused, setFocused] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: rows grow in place, which the version tells
  const shown = useMemo(() => new ShownRows(turns, unfolded), [turns, unfolded, version]);

  const unfold = useCallback((row: number, open: boolean): void => {
    setUnfolded((before) => {
      const after = new Set(before);
      if (open) after.add(row);
      else after.delete(row);
      return after;
    });
  }, []);
  const reveal = (place: Shown): void => {
    const opens = place.event !== undefined && !shown.isUnfolded(place.row) && turns.size(place.row) > 1;
    if (opens) unfold(place.row, true);
    const next = opens ? new ShownRows(turns, [...unfolded, place.row]) : shown;
    // After the list has its new height.
    requestAnimationFrame(() => bringIntoSight(box.current, next.indexOf(place)));
  };
  const { chosen, missing, choose } = useChosen(rows, main, reveal);
  const go = (place: Shown): void => {
    choose(place);
    reveal(place);
  };
  const goToEvent = (id: string): void => {
    const event = lineage.rowOf(id);
    if (event !== undefined) go(eventPlace(event));
    // Something that led here may lie in another session.
    else
      project.event(id).then(
        ({ session }) => void navigate({ to: "/s/$session/graph", params: { session }, search: { at: id } }),
        (error: unknown) => sayFailure(error),
      );
  };
  const eventPlace = (event: number): Shown => {
    const row = turns.of(event);
    return turns.size(row) === 1 ? { row } : { row, event };
  };
  /** As many of its events as there is room for under it. */
  const revealEvents = (row: number): void => {
    const next = new ShownRows(turns, [...unfolded, row]);
    const room = Math.floor((box.current?.clientHeight ?? 0) / rowHeight / 2);
    const last = next.indexOf({ row }) + Math.min(turns.size(row), room);
    requestAnimationFrame(() => bringIntoSight(box.current, last));
  };
  const fold = (row: number): void => {
    const open = shown.isUnfolded(row);
    unfold(row, !open);
    if (!open) revealEvents(row);
    if (open && chosen?.row === row && chosen.event !== undefined) choose({ row });
  };
  const search = useSearching(graph, asked, (event) => go(eventPlace(event)));
  return {
    ...{ chosen, missing, shown, go, goToEvent, fold, byKey, setByKey, focused, setFocused, search },
    choose: (place) => {
      setByKey(false);
      choose(place);
    },
  };
}

function useSearching({ rows: { lineage } }: Graph, asked: string, goTo: (event: number) => void): Walk["search"] {
  const navigate = useNavigate();
  const [open, setOpen] = useState(asked !== "");
  const [current, setCurrent] = useState(-1);
  const found = useHits(lineage, open ? asked : "");
  const ask = useCallback(
    (text: string): void => {
      setCurrent(-1);
      void navigate({ to: ".", search: (kept) => ({ ...kept, q: text === "" ? undefined : text }), replace: true });
    },
    [navigate],
  );
  const go = (index: number): void => {
    const { hits } = found;
    if (hits.length === 0) {
      say(asked === "" ? "Search first: press /" : "Nothing was found");
      return;
    }
    const place = (index + hits.length) % hits.length;
    setCurrent(place);
    goTo(hits[place]?.row ?? 0);
  };
  return {
    ...{ open, found, current, ask, go },
    show: () => setOpen(true),
    close: () => {
      setOpen(false);
      ask("");
    },
  };
}

/** Scrolls only as far as it must; what is far away comes to the middle. */
function bringIntoSight(box: HTMLDivElement | null, index: number): void {
  if (box === null) return;
  const { scrollTop, clientHeight } = box;
  const top = index * rowHeight;
  const [before, after] = [scrollTop - top, top + rowHeight - (scrollTop + clientHeight)];
  if (before <= 0 && after <= 0) return;
  const far = Math.max(before, after) > clientHeight;
  box.scrollTop = far ? top - clientHeight / 2 : before > 0 ? top : top + rowHeight - clientHeight;
}
