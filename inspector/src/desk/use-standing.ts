/** How sessions stand: what they do not say themselves, the runs that were given them know. */
import { useQuery } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";
import { useClient, useMay } from "../client.tsx";

const most = 200;
const everyMs = 3000;

export interface Standing {
  /** The sessions that somebody executes now. */
  readonly running: ReadonlySet<string>;
  /** Those whose run waits, on whichever of its branches. */
  readonly waiting: ReadonlySet<string>;
  /** False: nobody could be asked. */
  readonly isKnown: boolean;
  readonly reread: () => void;
}

/** Of all sessions, or of one. */
export function useStanding(session?: string): Standing {
  const { runs } = useClient();
  const { data, refetch } = useQuery({
    queryKey: ["runs", "standing", session],
    queryFn: async ({ signal }) => {
      const those = async (status: "running" | "waiting"): Promise<readonly string[]> =>
        (await runs.list({ status, session, limit: most, signal }).page()).items.map((run) => run.session);
      const [running, waiting] = await Promise.all([those("running"), those("waiting")]);
      return { running, waiting };
    },
    // That a run ended is said after its last event.
    refetchInterval: ({ state }) => (state.data === undefined || state.data.running.length === 0 ? false : everyMs),
    enabled: useMay("runs:read"),
  });
  const reread = useCallback(() => void refetch(), [refetch]);
  return useMemo(
    () => ({ running: new Set(data?.running), waiting: new Set(data?.waiting), isKnown: data !== undefined, reread }),
    [data, reread],
  );
}
