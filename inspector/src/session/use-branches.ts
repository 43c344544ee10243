/** What the branches of the lineage are called, and how they stand: read again, seldom, while it goes on. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import type { GraphResource } from "../../../src/client/client.ts";
import { useClient } from "../client.tsx";
import { useAgain } from "../desk/use-seldom.ts";
import { useLineage } from "../lineage/use-lineage.tsx";
import { shortId } from "../parts/short-id.ts";

export type Branch = GraphResource["nodes"][number];

export interface Branches {
  readonly all: readonly Branch[];
  readonly get: (id: string) => Branch | undefined;
  /** A label, or the beginning of the id. */
  readonly nameOf: (id: string) => string;
}

const readMs = 5000;

export function useBranches(): Branches {
  const { sessions } = useClient();
  const {
    lineage: { session },
  } = useLineage();
  const { data } = useQuery({
    queryKey: ["branches", session],
    queryFn: ({ signal }) => sessions.graph(session, { signal }),
    staleTime: readMs,
  });
  return useMemo(() => {
    const all = data?.nodes ?? [];
    const byId = new Map(all.map((branch) => [branch.id, branch]));
    const nameOf = (id: string): string => byId.get(id)?.label || shortId(id);
    return { all, get: (id) => byId.get(id), nameOf };
  }, [data]);
}

/** Has them read again when something happened: once, for all who show them. */
export function useFreshBranches(): void {
  const queries = useQueryClient();
  const { lineage, version } = useLineage();
  useAgain(version, () => queries.invalidateQueries({ queryKey: ["branches", lineage.session] }, { cancelRefetch: false }));
}
