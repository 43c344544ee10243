/** What the work on screen waits for, on all of its branches: people, times, signals. */
import { useQuery } from "@tanstack/react-query";
import { useClient, useMay } from "../client.tsx";
import { useAgain } from "../desk/use-seldom.ts";
import { useLineage } from "../lineage/use-lineage.tsx";

export interface Waits {
  readonly items: readonly { readonly id: string; readonly kind: string }[];
  /** When that was so. */
  readonly until: number;
}

/** Undefined until it is known; where nobody may ask it stays so. */
export function useWaits(): Waits | undefined {
  const { lineage, version } = useLineage();
  const { pending } = useClient();
  const mayRead = useMay("pending:read");
  const { data, refetch } = useQuery({
    queryKey: ["pending", "of", lineage.session],
    queryFn: async ({ signal }) => {
      // Of all branches: each is a session of its own.
      const { items } = await pending.list({ limit: 500, signal }).page();
      return { items: items.map(({ id, kind }) => ({ id, kind })), until: Date.now() };
    },
    enabled: mayRead,
    staleTime: 10_000,
  });
  useAgain(version, () => mayRead && refetch({ cancelRefetch: false }));
  return data;
}
