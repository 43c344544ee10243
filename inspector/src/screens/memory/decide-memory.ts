/** A decision about memory: sent once, told when it is done, and all that is shown of memory read anew. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { MemoryRecordResource } from "../../../../src/client/client.ts";
import { say } from "../../shell/toasts.tsx";

interface Deciding {
  readonly busy: boolean;
  readonly error: Error | null;
  readonly send: () => void;
}

export function useDecision(
  decide: () => Promise<readonly MemoryRecordResource[]>,
  told: (changed: readonly MemoryRecordResource[]) => string,
  close: () => void,
): Deciding {
  const queries = useQueryClient();
  const { isPending, error, mutate } = useMutation({
    mutationFn: decide,
    onSuccess: async (changed) => {
      say(told(changed));
      close();
      await queries.invalidateQueries({ queryKey: ["memory"] });
    },
  });
  return { busy: isPending, error, send: () => mutate() };
}
