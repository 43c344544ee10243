/** The row or event that is chosen. The address says it too, so that every other screen shows the same place. */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useEffect, useRef, useState } from "react";
import type { GraphRows } from "./graph-rows.ts";
import type { Path } from "./path.ts";
import type { Shown } from "./shown-rows.ts";

/** So long after the last move the address follows. */
const writeMs = 60;

export interface Chosen {
  readonly chosen: Shown | undefined;
  /** The address names a place that is not here. */
  readonly missing: boolean;
  readonly choose: (shown: Shown) => void;
}

/** `reveal` is called when the address says where to go. */
export function useChosen(rows: GraphRows, main: Path, reveal: (shown: Shown) => void): Chosen {
  const { at, branch } = useSearch({ strict: false });
  const navigate = useNavigate();
  const [chosen, setChosen] = useState<Shown | undefined>(() => placeOf(rows, at, branch));
  const written = useRef<string | undefined>(undefined);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const latest = useRef({ reveal, main });
  latest.current = { reveal, main };

  // A place may be named before it is here: whoever forks goes to what comes.
  const awaited = chosen === undefined && (at ?? branch) !== undefined ? rows.lineage.count : 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another address moves what is chosen, not more rows
  useEffect(() => {
    if ((at ?? branch) === undefined || (at !== undefined && at === written.current)) return;
    // Whoever comes back here by an address is brought back.
    written.current = undefined;
    const place = placeOf(rows, at, branch);
    setChosen(place);
    if (place !== undefined) latest.current.reveal(place);
  }, [at, branch, awaited]);
  useEffect(() => () => clearTimeout(timer.current), []);

  const choose = useCallback(
    (shown: Shown): void => {
      setChosen(shown);
      clearTimeout(timer.current);
      timer.current = setTimeout(() => {
        // Whoever has left meanwhile is not brought back.
        if (!isHere()) return;
        const { lineage } = rows;
        const id = lineage.id(eventOf(rows, shown));
        written.current = id;
        const own = latest.current.main.has(shown.row) ? undefined : lineage.branch(eventOf(rows, shown));
        void navigate({ to: ".", search: (kept) => ({ ...kept, at: id, branch: own }), replace: true });
      }, writeMs);
    },
    [rows, navigate],
  );
  return { chosen, missing: chosen === undefined && at !== undefined, choose };
}

function isHere(): boolean {
  return /^#\/s\/[^/?]+\/graph/.test(window.location.hash);
}

/** The event that stands for a row: its last one, after which a fork begins. */
export function eventOf({ turns }: GraphRows, { row, event }: Shown): number {
  return event ?? turns.last(row);
}

function placeOf({ lineage, turns }: GraphRows, at: string | undefined, branch: string | undefined): Shown | undefined {
  if (at === undefined && branch === undefined) return undefined;
  const event = at === undefined ? lineage.newestOn(branch ?? "") : lineage.find(at, branch ?? lineage.session);
  if (event === undefined) return undefined;
  const row = turns.of(event);
  return event === turns.last(row) ? { row } : { row, event };
}
