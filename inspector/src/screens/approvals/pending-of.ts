/** What waits behind one session. The server knows: its branches, the work of its runs, and all branches of a rerun that works on it. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { PendingResource } from "../../../../src/client/client.ts";
import { useClient } from "../../client.tsx";

const most = 200;

export function usePendingOf(session: string | undefined, pending: readonly PendingResource[] | undefined): ReadonlySet<string> {
  const { pending: waiting } = useClient();
  // Asked again when something else waits.
  const all = pending?.map(({ id }) => id).join();
  const { data } = useQuery({
    queryKey: ["pending", "behind", session, all],
    queryFn: async ({ signal }) =>
      (await waiting.list({ session: session as string, limit: most, signal }).page()).items.map(({ id }) => id),
    enabled: session !== undefined && all !== undefined,
    placeholderData: (before, query) => (query?.queryKey[2] === session ? before : undefined),
  });
  return useMemo(() => new Set(data), [data]);
}
