/** What can be compared: the branches of a lineage, or the newest sessions. */
import { useQuery } from "@tanstack/react-query";
import { useClient } from "../../client.tsx";

export interface Candidate {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly step: number;
  /** The branch that won, where one did. */
  readonly won: boolean;
}

const mostBranches = 200;
const mostSessions = 50;

/** The branches of the session that a place lies in; without one the newest sessions. */
export function useBranches(place: string): readonly Candidate[] {
  const { sessions } = useClient();
  const session = place.split("@")[0] ?? "";
  const { data = [] } = useQuery({
    queryKey: ["diff", "branches", session],
    queryFn: async ({ signal }): Promise<readonly Candidate[]> => {
      if (session === "") {
        const { items } = await sessions.list({ limit: mostSessions, signal }).page();
        return items.map(({ id, title, lineage, begins, status = "idle", standing = status, step }) => ({
          ...{ id, step, status: standing, won: false },
          name: title ?? lineage?.label ?? begins ?? "untitled",
        }));
      }
      const { nodes } = await sessions.graph(session, { signal });
      return nodes.slice(0, mostBranches).map(({ id, label, status, step, won }) => ({ id, name: label, status, step, won }));
    },
    staleTime: 10_000,
  });
  return data;
}
