/** What is remembered, as the list shows it: the newest write first, or what matches best. */
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import type { Client, MemoriesQuery, MemoryHitResource, MemoryRecordResource } from "../../../../src/client/client.ts";
import { useClient } from "../../client.tsx";

export type Scope = NonNullable<MemoriesQuery["scope"]>;
export const scopes: readonly Scope[] = ["project", "user", "agent", "workflow", "session"];

export interface Wanted {
  readonly query: string;
  readonly scope: Scope | undefined;
  readonly state: "published" | "retracted" | undefined;
}

export interface Memories {
  readonly items: readonly (MemoryRecordResource | MemoryHitResource)[];
  /** There are more than are shown. */
  readonly cut: boolean;
}

const perPage = 500;
const mostListed = 5000;
const mostFound = 100;

export function useMemories({ query, scope, state }: Wanted): UseQueryResult<Memories> {
  const { memory } = useClient();
  return useQuery({
    queryKey: ["memory", "list", query, scope, state],
    queryFn: async ({ signal }): Promise<Memories> => {
      if (query === "") return newestFirst(await listed(memory, { scope, state, signal }));
      const { items } = await memory.search({ query, scope, limit: mostFound, signal });
      return { items: items.filter((item) => state === undefined || item.state === state), cut: items.length === mostFound };
    },
  });
}

function newestFirst({ items, cut }: { readonly items: readonly MemoryRecordResource[]; readonly cut: boolean }): Memories {
  return { items: items.toSorted((a, b) => b.revision - a.revision || (a.at < b.at ? 1 : -1)), cut };
}

/** The newest version of each, as far as they are few enough. */
export async function listed(
  memory: Client["memory"],
  query: MemoriesQuery & { readonly signal?: AbortSignal },
): Promise<{ readonly items: readonly MemoryRecordResource[]; readonly cut: boolean }> {
  const items: MemoryRecordResource[] = [];
  const pages = memory.list({ ...query, limit: perPage });
  for (let after: string | undefined; ; ) {
    const page = await pages.page(after);
    items.push(...page.items);
    after = page.next;
    if (after === undefined || items.length >= mostListed) return { items, cut: after !== undefined };
  }
}
