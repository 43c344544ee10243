/** Which sessions the list has. */
import { useMemo } from "react";
import type { Client, Page, SessionRow } from "../../../../src/client/client.ts";
import { useClient } from "../../client.tsx";
import type { Search } from "../../desk/filters.ts";
import { useLiveRows } from "../../desk/live-rows.ts";
import { byCost, type Counting } from "./sums.ts";

export interface SessionFilters {
  readonly status?: string | undefined;
  readonly tag?: string | undefined;
  readonly title?: string | undefined;
  /** "all": also what forked from others. */
  readonly branches?: string | undefined;
  /** "cost": the costliest first. */
  readonly order?: string | undefined;
}

export function filtersOf({ status, tag, title, branches, order }: Search): SessionFilters {
  return { status, tag, title, branches, order };
}

/** What `status` may be: how the list says that a session stands. */
export const statuses = ["running", "queued", "waiting", "failed", "idle", "cancelled", "rejected"] as const;

const pageSize = 60;
/** Of more sessions than this the costliest of the newest ones are shown: what one costs is in its events, and no index has it. */
export const mostOrdered = 1000;

export function useSessionRows(filters: SessionFilters, counting: Counting) {
  const client = useClient();
  const { status, tag, title, branches, order } = filters;
  const found = useLiveRows<SessionRow>({
    queryKey: ["sessions", "list", status, tag, title, branches, order],
    page: (after, signal) => (order === "cost" ? manyOf(client, filters, signal) : pageOf(client, filters, after, signal)),
    newest: () => pageOf(client, filters, undefined),
    one: (id) => client.sessions.get(id),
  });
  const { rows } = found;
  const ordered = useMemo(() => (order === "cost" ? byCost(rows, counting) : rows), [rows, order, counting]);
  return { ...found, rows: ordered };
}

/** As many as are put in order, page by page. */
async function manyOf(client: Client, filters: SessionFilters, signal?: AbortSignal): Promise<Page<SessionRow>> {
  const items: SessionRow[] = [];
  let next: string | undefined;
  do {
    const page = await pageOf(client, filters, next, signal);
    items.push(...page.items);
    next = page.next;
  } while (next !== undefined && items.length < mostOrdered);
  return { items };
}

async function pageOf(client: Client, filters: SessionFilters, after: string | undefined, signal?: AbortSignal): Promise<Page<SessionRow>> {
  const { status, tag, title, branches } = filters;
  const query = { status: status as SessionRow["standing"], tag, title, limit: pageSize, ...(branches === "all" ? {} : { roots: true }) };
  return client.sessions.list({ ...query, signal }).page(after);
}
