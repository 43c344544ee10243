/** What a session and its branches recalled and remembered, as their events say. */
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import type { EventResource } from "../../../../src/client/client.ts";
import { useClient } from "../../client.tsx";
import { Lineage } from "../../lineage/lineage.ts";

export interface Touched {
  readonly read: boolean;
  readonly wrote: boolean;
}

export interface SessionMemory {
  /** By uri. */
  readonly touched: ReadonlyMap<string, Touched>;
  /** Not all of its recalls and writes were looked at. */
  readonly cut: boolean;
}

const mostEvents = 300;
const atOnce = 8;
const kinds = new Set(["recall.returned", "remember.returned", "forget.returned"]);

export function useSessionMemory(session: string | undefined): UseQueryResult<SessionMemory> {
  const { sessions, project } = useClient();
  return useQuery({
    queryKey: ["memory", "session", session],
    enabled: session !== undefined,
    queryFn: async ({ signal }): Promise<SessionMemory> => {
      const lineage = new Lineage(await sessions.lineage(session ?? "", { signal }));
      const ids: string[] = [];
      for (let row = lineage.count - 1; row >= 0; row--) if (kinds.has(lineage.kind(row))) ids.push(lineage.id(row));
      const touched = new Map<string, Touched>();
      for (let from = 0; from < Math.min(ids.length, mostEvents); from += atOnce) {
        const events = await Promise.all(ids.slice(from, Math.min(from + atOnce, mostEvents)).map((id) => project.event(id, { signal })));
        for (const event of events) take(event, touched);
      }
      return { touched, cut: ids.length > mostEvents };
    },
  });
}

function take({ kind, data }: EventResource, touched: Map<string, Touched>): void {
  const { value, item } = (data ?? {}) as { readonly value?: unknown; readonly item?: { readonly uri?: unknown } };
  const note = (uri: unknown, how: Partial<Touched>): void => {
    if (typeof uri === "string") touched.set(uri, { ...(touched.get(uri) ?? { read: false, wrote: false }), ...how });
  };
  if (kind !== "recall.returned") note(item?.uri, { wrote: true });
  else if (Array.isArray(value)) for (const hit of value as readonly { readonly uri?: unknown }[]) note(hit.uri, { read: true });
}
