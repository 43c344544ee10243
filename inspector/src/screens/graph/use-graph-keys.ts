/** The keys of the graph. */
import { useNavigate } from "@tanstack/react-router";
import { useAct } from "../../actions/actions.tsx";
import { useMay } from "../../client.tsx";
import { type KeyAction, useKeys } from "../../shell/keys.ts";
import { marked, markHere } from "../../shell/marked.ts";
import { say } from "../../shell/toasts.tsx";
import type { Shown } from "./shown-rows.ts";
import { eventOf } from "./use-chosen.ts";
import type { Graph } from "./use-graph.ts";
import type { Walk } from "./use-walk.ts";

export function useGraphKeys({ rows }: Graph, walk: Walk, toDetails: () => void): void {
  const navigate = useNavigate();
  const act = useAct();
  const mayFork = useMay("sessions:write");
  const { lineage } = rows;
  const { chosen, shown, focused, search } = walk;
  const go = (place: Shown | undefined): void => {
    if (place === undefined) return;
    walk.setByKey(true);
    walk.go(place);
  };
  const toIndex = (index: number): void => go(shown.at(Math.max(0, Math.min(shown.count - 1, index))));
  const move = (by: number): void => toIndex(chosen === undefined ? (by > 0 ? 0 : shown.count - 1) : shown.indexOf(chosen) + by);
  const toRow = (row: number | undefined): void => {
    if (row !== undefined && row >= 0) go({ row });
  };
  const place = (): { readonly session: string; readonly event: string } | undefined => {
    if (chosen === undefined) return void say("Choose a row first");
    const event = eventOf(rows, chosen);
    return { session: lineage.branch(event), event: lineage.id(event) };
  };
  const withPlace = (then: (here: { readonly session: string; readonly event: string }) => void) => (): void => {
    const here = place();
    if (here !== undefined) then(here);
  };
  const unfold = (open: boolean) => (): void => {
    if (chosen === undefined) return;
    if (open !== shown.isUnfolded(chosen.row)) {
      if (rows.turns.size(chosen.row) > 1) walk.fold(chosen.row);
    } else if (open) move(1);
  };
  const along: readonly KeyAction[] = [
    { keys: "J", does: "next row along the branch", act: () => toRow(chosen === undefined ? 0 : rows.next(chosen.row)) },
    { keys: "K", does: "row before it along the branch", act: () => chosen !== undefined && toRow(rows.parent(chosen.row)) },
  ];
  const inList: readonly KeyAction[] = [
    { keys: "ArrowDown", does: "next row", act: () => move(1) },
    { keys: "ArrowUp", does: "row before", act: () => move(-1) },
    { keys: "ArrowRight", does: "unfold the turn", act: unfold(true) },
    { keys: "ArrowLeft", does: "fold the turn", act: unfold(false) },
    { keys: "Enter", does: "to the details", act: () => (chosen === undefined ? move(1) : toDetails()) },
  ];
  useKeys([
    { keys: "j", does: "next row", act: () => move(1) },
    { keys: "k", does: "row before", act: () => move(-1) },
    ...along,
    { keys: "l", does: "unfold the turn", act: unfold(true) },
    { keys: "h", does: "fold the turn", act: unfold(false) },
    { keys: "Home", does: "first row", act: () => toIndex(0) },
    { keys: "End", does: "newest row", act: () => toIndex(shown.count - 1) },
    ...(mayFork ? [{ keys: "f", does: "fork from here", act: withPlace((here) => act({ verb: "fork", place: here })) }] : []),
    { keys: "m", does: "mark this place", act: withPlace(({ session, event }) => markHere(`${session}@${event}`)) },
    {
      keys: "c",
      does: "compare with the marked place",
      act: withPlace(({ session, event }) => {
        const a = marked();
        if (a === undefined) say("Mark a place first: press m");
        else void navigate({ to: "/diff", search: { a, b: `${session}@${event}` } });
      }),
    },
    { keys: "/", does: "search", act: search.show },
    { keys: "n", does: "next hit", act: () => search.go(search.current + 1) },
    { keys: "N", does: "hit before", act: () => search.go(search.current < 0 ? -1 : search.current - 1) },
    { keys: "Escape", does: "hide the way to the first row", act: () => walk.setByKey(false) },
    ...(focused ? inList : []),
  ]);
}
