/** The rows of a list, a page at a time, kept true while things go on: changed in place, new ones on top. */
import { type InfiniteData, useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useMemo, useRef } from "react";
import type { Page } from "../../../src/client/client.ts";

interface Row {
  readonly id: string;
}

type Pages<R> = InfiniteData<Page<R>, string | undefined>;

interface Source<R extends Row> {
  /** What the list is known by, with its filters: another key is another list. */
  readonly queryKey: readonly unknown[];
  readonly page: (after: string | undefined, signal?: AbortSignal) => Promise<Page<R>>;
  /** The newest ones alone, where a page is more than that. */
  readonly newest?: (after: undefined) => Promise<Page<R>>;
  /** One row as it is now; undefined: it is gone. */
  readonly one: (id: string) => Promise<R | undefined>;
}

/** More single rows are not asked for at once. */
const mostSingle = 20;

export function useLiveRows<R extends Row>(source: Source<R>) {
  const queries = useQueryClient();
  const latest = useRef(source);
  latest.current = source;
  const found = useInfiniteQuery({
    queryKey: source.queryKey,
    queryFn: ({ pageParam, signal }) => latest.current.page(pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next,
    refetchOnMount: "always",
  });
  const { data, hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } = found;
  const rows = useMemo(() => unique(data?.pages.flatMap(({ items }) => items) ?? []), [data]);
  const more = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage && !isFetchNextPageError) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage]);

  const waiting = useRef(new Set<string>());
  const busy = useRef(false);
  const again = useRef(false);
  /** The newest ones, and these where they are in the list. */
  const refresh = useCallback(
    async (ids: ReadonlySet<string>): Promise<void> => {
      for (const id of ids) waiting.current.add(id);
      again.current = true;
      if (busy.current) return;
      busy.current = true;
      try {
        while (again.current) {
          again.current = false;
          const changed = waiting.current;
          waiting.current = new Set();
          const { queryKey } = latest.current;
          const fresh = await freshOf(latest.current, changed, idsOf(queries.getQueryData<Pages<R>>(queryKey)));
          queries.setQueryData<Pages<R>>(queryKey, (pages) => (pages === undefined ? pages : renewed(pages, fresh)));
        }
      } catch {
        // Rows stay as they were known; the next change asks again.
      } finally {
        busy.current = false;
      }
    },
    [queries],
  );
  return { ...found, rows, more, refresh };
}

interface Fresh<R> {
  readonly newest: readonly R[];
  readonly changed: ReadonlyMap<string, R>;
}

async function freshOf<R extends Row>(source: Source<R>, ids: ReadonlySet<string>, known: ReadonlySet<string>): Promise<Fresh<R>> {
  const { items: newest } = await (source.newest ?? source.page)(undefined);
  const changed = new Map(newest.map((row) => [row.id, row]));
  const left = [...ids].filter((id) => known.has(id) && !changed.has(id)).slice(0, mostSingle);
  for (const row of await Promise.all(left.map((id) => source.one(id).catch(() => undefined))))
    if (row !== undefined) changed.set(row.id, row);
  return { newest, changed };
}

/** Rows keep their places; those that nobody knew are put on top. */
export function renewed<R extends Row>({ pages, pageParams }: Pages<R>, { newest, changed }: Fresh<R>): Pages<R> {
  const known = idsOf({ pages, pageParams });
  const added = newest.filter(({ id }) => !known.has(id));
  return {
    pageParams,
    pages: pages.map((page, index) => {
      const items = page.items.map((row) => changed.get(row.id) ?? row);
      return { ...page, items: index === 0 ? [...added, ...items] : items };
    }),
  };
}

function idsOf<R extends Row>(pages: Pages<R> | undefined): ReadonlySet<string> {
  return new Set(pages?.pages.flatMap(({ items }) => items.map(({ id }) => id)));
}

/** What moved between two pages while they were read comes twice. */
function unique<R extends Row>(rows: readonly R[]): readonly R[] {
  return [...new Map(rows.map((row) => [row.id, row])).values()];
}
