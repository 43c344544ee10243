/** One event with what it says. What is on record does not change. */
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import type { EventResource } from "../../../src/client/client.ts";
import { useClient } from "../client.tsx";

export function useEvent(id: string | undefined): UseQueryResult<EventResource> {
  const { project } = useClient();
  return useQuery({
    queryKey: ["event", id],
    queryFn: ({ signal }) => project.event(id ?? "", { signal }),
    enabled: id !== undefined && id !== "",
    staleTime: Number.POSITIVE_INFINITY,
  });
}
