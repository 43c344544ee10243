/** Which runs the list has. */
import type { Client, Page, RunResource } from "../../../../src/client/client.ts";
import { useClient } from "../../client.tsx";
import type { Search } from "../../desk/filters.ts";
import { useLiveRows } from "../../desk/live-rows.ts";

export interface RunFilters {
  /** A status, or "stuck". */
  readonly status?: string | undefined;
  readonly workflow?: string | undefined;
  readonly session?: string | undefined;
  readonly order?: string | undefined;
}

export function filtersOf({ status, workflow, session, order }: Search): RunFilters {
  return { status, workflow, session, order };
}

export const statuses = ["stuck", "queued", "running", "waiting", "done", "failed", "cancelled"] as const;

const pageSize = 100;
export const mostCounted = 500;

export function useRunRows(filters: RunFilters) {
  const client = useClient();
  const { status, workflow, session, order } = filters;
  return useLiveRows<RunResource>({
    queryKey: ["runs", "list", status, workflow, session, order],
    page: (after, signal) => pageOf(client, filters, after, signal),
    one: (id) => client.runs.get(id),
  });
}

async function pageOf(client: Client, filters: RunFilters, after: string | undefined, signal?: AbortSignal): Promise<Page<RunResource>> {
  const { status, workflow, session, order } = filters;
  if (status === "stuck") return { items: await stuckRuns(client, signal) };
  const query = { status: status as RunResource["status"] | undefined, workflow, session, ...(order === "oldest" ? { order } : {}) };
  return client.runs.list({ ...query, limit: pageSize, signal } as Parameters<Client["runs"]["list"]>[0]).page(after);
}

/** Those that nobody holds though they run, and those that wait for somebody to say what became of an effect. */
export async function stuckRuns(client: Client, signal?: AbortSignal): Promise<readonly RunResource[]> {
  const [{ items: running }, { items: unknown }] = await Promise.all([
    client.runs.list({ status: "running", limit: mostCounted, signal }).page(),
    client.pending.list({ kind: "unknown", limit: mostCounted, signal }).page(),
  ]);
  const ids = [...new Set(unknown.flatMap(({ run }) => (run === undefined ? [] : [run])))].slice(0, 50);
  const waiting = await Promise.all(ids.map((id) => client.runs.get(id, { signal }).catch(() => undefined)));
  return [...running.filter(({ owner }) => owner === undefined), ...waiting.filter((run) => run !== undefined)];
}
