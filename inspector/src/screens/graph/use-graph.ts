/** What the graph shows of the session on screen, as it goes on. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useClient, useMay } from "../../client.tsx";
import { useAgain } from "../../desk/use-seldom.ts";
import type { Lineage } from "../../lineage/lineage.ts";
import { useLineage } from "../../lineage/use-lineage.tsx";
import { useOpenCalls } from "../../session/open-calls.tsx";
import { type Branches, useBranches } from "../../session/use-branches.ts";
import type { Waits } from "../../session/use-waits.ts";
import { GraphRows } from "./graph-rows.ts";
import { Path } from "./path.ts";
import type { Decisions } from "./row-look.ts";

const known = new WeakMap<Lineage, GraphRows>();

export interface Graph {
  readonly rows: GraphRows;
  readonly version: number;
  /** The line that became the session: the branches whose results were adopted lie on it. */
  readonly main: Path;
  /** What the server knows of branches beside the index: names, how they stand, and why they were rejected. */
  readonly branchNamed: Branches;
  readonly decisions: Decisions;
  /** Whether somebody executes it or one of its branches; where nobody can be asked it may be so. */
  readonly isAtWork: boolean;
}

export function useGraph(): Graph {
  const { lineage, version } = useLineage();
  const rows = known.get(lineage) ?? new GraphRows(lineage);
  known.set(lineage, rows);
  rows.update();
  const newest = rows.turns.of(lineage.newestOn(lineage.session) ?? -1);
  // A new way only when there is a new row at its end.
  const main = useMemo(() => new Path(rows, newest), [rows, newest]);
  const { isAtWork, waits } = useOpenCalls();
  return { rows, version, main, branchNamed: useBranches(), decisions: useDecisions(rows, version, waits), isAtWork };
}

const mostDecisions = 500;

/** Who waits, and what was decided, at the rows that asked. */
function useDecisions(rows: GraphRows, version: number, waits: Waits | undefined): Decisions {
  const { pending } = useClient();
  const { lineage, turns } = rows;
  const mayRead = useMay("pending:read");
  const { data, refetch } = useQuery({
    queryKey: ["decided", lineage.session],
    queryFn: async ({ signal }) => {
      const { items } = await pending.decisions({ session: lineage.session, limit: mostDecisions, signal }).page();
      return items.map((one) => one.pending.id);
    },
    enabled: mayRead,
  });
  useAgain(version, () => mayRead && refetch({ cancelRefetch: false }));
  return useMemo(() => {
    const found = new Map<number, "waiting" | "decided">();
    for (const id of data ?? []) {
      const event = lineage.rowOf(id);
      if (event !== undefined) found.set(turns.of(event), "decided");
    }
    for (const call of waits?.kinds.keys() ?? []) found.set(turns.of(call), "waiting");
    return found;
  }, [data, waits, lineage, turns]);
}
