/** What the work on screen waits for, on all of its branches: people, times, signals. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useClient, useMay } from "../client.tsx";
import { useAgain } from "../desk/use-seldom.ts";
import { useLineage } from "../lineage/use-lineage.tsx";
import { kindsIn } from "./open-call.ts";

export interface Waits {
  /** Its kind, by the row of the call. */
  readonly kinds: ReadonlyMap<number, string>;
  /** When that was so. */
  readonly until: number;
}

const most = 500;

/** Undefined until it is known; where nobody may ask it stays so. */
export function useAskedWaits(): Waits | undefined {
  const { lineage, version } = useLineage();
  const { pending } = useClient();
  const mayRead = useMay("pending:read");
  const { data, refetch } = useQuery({
    queryKey: ["pending", "of", lineage.session],
    queryFn: async ({ signal }) => {
      // Of all branches: each is a session of its own. Where too much waits for one page, at least what waits in this one.
      const { items, next } = await pending.list({ limit: most, signal }).page();
      const own = next === undefined ? [] : (await pending.list({ session: lineage.session, limit: most, signal }).page()).items;
      return { items: [...items, ...own].map(({ id, kind }) => ({ id, kind })), until: Date.now() };
    },
    enabled: mayRead,
    staleTime: 10_000,
  });
  useAgain(version, () => mayRead && refetch({ cancelRefetch: false }));
  // biome-ignore lint/correctness/useExhaustiveDependencies: what waits may come before its event does
  return useMemo(() => data && { kinds: kindsIn(lineage, data.items), until: data.until }, [lineage, version, data]);
}
