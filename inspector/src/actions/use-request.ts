/** What exactly a model call read. What is on record does not change. */
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import type { RecordedRequest } from "../../../src/client/client.ts";
import { useClient } from "../client.tsx";

export function useRequest(session: string, call: string | undefined): UseQueryResult<RecordedRequest> {
  const { sessions } = useClient();
  return useQuery({
    queryKey: ["request", call],
    queryFn: ({ signal }) => sessions.request(session, { at: call, signal }),
    enabled: call !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
  });
}
