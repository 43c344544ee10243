/** How sessions stand: what they do not say themselves, the runs that were given them know. */
import { useQuery } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";
import type { OpenRun } from "../../../src/wire/standing.ts";
import { useClient, useMay } from "../client.tsx";

const most = 200;
const everyMs = 3000;
const open = ["running", "waiting", "queued"] as const;

export interface Standing {
  /** The runs that have not ended, by their session. */
  readonly open: ReadonlyMap<string, readonly OpenRun[]>;
  /** False: nobody could be asked. */
  readonly isKnown: boolean;
  /** False: there may be more open runs than these. */
  readonly isWhole: boolean;
  /** False: there may be more that are running. */
  readonly hasAllRunning: boolean;
  readonly reread: () => void;
}

/** Of all sessions, or of one. */
export function useStanding(session?: string): Standing {
  const { runs } = useClient();
  const { data, refetch } = useQuery({
    queryKey: ["runs", "standing", session],
    queryFn: async ({ signal }) => {
      const pages = await Promise.all(open.map((status) => runs.list({ status, session, limit: most, signal }).page()));
      return {
        runs: pages.flatMap(({ items }) => items.map(({ session, status, owner }) => ({ session, status, owner }))),
        isWhole: pages.every(({ next }) => next === undefined),
        hasAllRunning: pages[0]?.next === undefined,
      };
    },
    // That a run ended is said after its last event.
    refetchInterval: ({ state }) => (state.data?.runs.some(({ status }) => status !== "waiting") === true ? everyMs : false),
    enabled: useMay("runs:read"),
  });
  const reread = useCallback(() => void refetch(), [refetch]);
  return useMemo(
    () => ({
      open: bySession(data?.runs ?? []),
      isKnown: data !== undefined,
      isWhole: data?.isWhole === true,
      hasAllRunning: data?.hasAllRunning === true,
      reread,
    }),
    [data, reread],
  );
}

function bySession<Run extends { readonly session: string }>(runs: readonly Run[]): ReadonlyMap<string, readonly Run[]> {
  const found = new Map<string, Run[]>();
  for (const run of runs) found.set(run.session, [...(found.get(run.session) ?? []), run]);
  return found;
}
