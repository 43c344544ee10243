/** The runs of one session that go on: what waits on a branch that they made, or in work nested in them, belongs to the session too. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { PendingResource } from "../../../../src/client/client.ts";
import { useClient, useMay } from "../../client.tsx";

const most = 200;
/** One that works on one branch may wait on another, and one that begins to wait is not at once on record as waiting. */
const unended: ReadonlySet<string> = new Set(["waiting", "running", "queued"]);

export function useRunsOf(session: string | undefined, pending: readonly PendingResource[] | undefined): ReadonlySet<string> {
  const { runs } = useClient();
  // Asked again when something of another run waits.
  const waiting = [...new Set(pending?.map(({ run }) => run))].sort().join();
  const { data } = useQuery({
    queryKey: ["runs", "unended of", session, waiting],
    queryFn: async ({ signal }) =>
      (await runs.list({ session: session as string, limit: most, signal }).page()).items.filter(({ status }) => unended.has(status)),
    enabled: useMay("runs:read") && session !== undefined && pending !== undefined,
    placeholderData: (before, query) => (query?.queryKey[2] === session ? before : undefined),
  });
  return useMemo(() => new Set(data?.map(({ id }) => id)), [data]);
}
