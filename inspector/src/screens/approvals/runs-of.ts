/** The runs of one session that wait: what waits on a branch that they made, or in work nested in them, belongs to the session too. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { PendingResource } from "../../../../src/client/client.ts";
import { useClient, useMay } from "../../client.tsx";

const most = 200;

export function useRunsOf(session: string | undefined, pending: readonly PendingResource[] | undefined): ReadonlySet<string> {
  const { runs } = useClient();
  // Asked again when something of another run waits.
  const waiting = [...new Set(pending?.map(({ run }) => run))].sort().join();
  const { data } = useQuery({
    queryKey: ["runs", "waiting of", session, waiting],
    queryFn: async ({ signal }) => (await runs.list({ session: session as string, status: "waiting", limit: most, signal }).page()).items,
    enabled: useMay("runs:read") && session !== undefined && pending !== undefined,
    placeholderData: keepPreviousData,
  });
  return useMemo(() => new Set(data?.map(({ id }) => id)), [data]);
}
