/** The place in the session that the address names: a branch, and an event on it or the newest one. */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import type { Lineage } from "../lineage/lineage.ts";
import { useLineage } from "../lineage/use-lineage.tsx";

type Search = Readonly<Record<string, string | undefined>>;

export interface LookedPlace {
  readonly lineage: Lineage;
  readonly version: number;
  /** The branch that is looked at: the one that was chosen, else the session of the address. */
  readonly branch: string;
  /** Whether the address names an event. Without one it goes along with what happens. */
  readonly named: boolean;
  /** The row of the event that the address names; undefined where it names none, or one that is not here. */
  readonly chosen: number | undefined;
  /** The same, or where none is named the newest of the branch. */
  readonly row: number | undefined;
  /** How the server is asked about it. */
  readonly session: string;
  readonly at: string | undefined;
  readonly search: Search;
  /** Changes what the address says behind the question mark; undefined removes. A choice while looking around leaves no step to go back to. */
  readonly change: (changed: Search) => void;
  /** Goes to another event, or to the newest. */
  readonly go: (row: number | undefined, options?: GoOptions) => void;
}

interface GoOptions {
  readonly replace?: boolean;
  /** Looked at on this branch from then on; the same one when left out. */
  readonly branch?: string;
}

export function usePlace(): LookedPlace {
  const search: Search = useSearch({ strict: false });
  const navigate = useNavigate();
  const { lineage, version } = useLineage();
  const { at, branch: asked } = search;
  const branch = asked !== undefined && lineage.hasBranch(asked) ? asked : lineage.session;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the lineage is the same object when it goes on; the version says that it did
  const chosen = useMemo(() => (at === undefined ? undefined : lineage.find(at, branch)), [lineage, version, at, branch]);
  const row = at === undefined ? lineage.newestOn(branch) : chosen;
  const change = useCallback(
    (changed: Search): void => void navigate({ to: ".", search: (kept: object) => ({ ...kept, ...changed }), replace: true }),
    [navigate],
  );
  const go = useCallback(
    (to: number | undefined, { replace = false, branch: on }: GoOptions = {}): void => {
      const event = to === undefined ? undefined : lineage.id(to);
      const shown = on === undefined ? {} : { branch: on === lineage.session ? undefined : on };
      void navigate({ to: ".", search: (kept: object) => ({ ...kept, ...shown, at: event }), replace });
    },
    [navigate, lineage],
  );
  return {
    ...{ lineage, version, branch, chosen, row, search, change, go, named: at !== undefined },
    session: row === undefined ? branch : lineage.branch(row),
    at: row === undefined ? undefined : lineage.id(row),
  };
}
