/** A verification as it was asked for: what was found, when, and how long that took. */
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import type { VerificationResource } from "../../../../src/client/client.ts";
import { useClient } from "../../client.tsx";

/** What is checked beside hashes and signatures. */
export interface Asking {
  /** Statements kept elsewhere, by the name of their file. */
  readonly anchor: { readonly name: string; readonly text: string } | undefined;
  readonly replay: boolean;
  /** Keys of others that are trusted. */
  readonly keys: readonly string[];
}

export const nothingMore: Asking = { anchor: undefined, replay: false, keys: [] };

export interface Result {
  readonly found: VerificationResource;
  readonly at: Date;
  readonly ms: number;
}

export function useVerification(session: string, { anchor, replay, keys }: Asking): UseQueryResult<Result> {
  const { sessions } = useClient();
  return useQuery({
    queryKey: ["verify", session, anchor?.name, anchor?.text, replay, keys],
    queryFn: async ({ signal }): Promise<Result> => {
      const begun = performance.now();
      const asked = { ...(anchor === undefined ? {} : { anchor: anchor.text }), ...(replay ? { replay } : {}), keys: [...keys] };
      const found = await sessions.verify(session, asked, { signal });
      return { found, at: new Date(), ms: performance.now() - begun };
    },
    // Whoever comes back to the screen asks anew: a record may be damaged at any time.
    staleTime: 0,
    gcTime: 0,
    refetchOnReconnect: false,
  });
}
