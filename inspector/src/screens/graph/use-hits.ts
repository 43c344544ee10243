/** Where a text stands in the session and its branches; the server looks, and the address keeps what was asked. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { GrepHitResource } from "../../../../src/client/client.ts";
import { useClient } from "../../client.tsx";
import type { Lineage } from "../../lineage/lineage.ts";

export interface Hit extends GrepHitResource {
  /** Where its event is in the lineage. */
  readonly row: number;
}

export interface Hits {
  readonly hits: readonly Hit[];
  readonly events: ReadonlySet<number>;
  readonly error: unknown;
  readonly looking: boolean;
  /** Reads on, where there is more. */
  readonly more: (() => void) | undefined;
}

const atOnce = 100;

export function useHits(lineage: Lineage, text: string): Hits {
  const { sessions } = useClient();
  const { data, error, isFetching, hasNextPage, fetchNextPage } = useInfiniteQuery({
    queryKey: ["grep", lineage.session, text],
    queryFn: ({ pageParam, signal }) =>
      sessions.grep(lineage.session, { q: text, ignoreCase: true, limit: atOnce, signal }).page(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next,
    enabled: text !== "",
  });
  return useMemo(() => {
    const hits = (data?.pages ?? []).flatMap(({ items }) =>
      items.flatMap((hit): Hit[] => {
        const row = lineage.rowOf(hit.event);
        return row === undefined ? [] : [{ ...hit, row }];
      }),
    );
    const more = hasNextPage ? () => void fetchNextPage() : undefined;
    return { hits, events: new Set(hits.map(({ row }) => row)), error, looking: isFetching, more };
  }, [data, error, isFetching, hasNextPage, fetchNextPage, lineage]);
}
