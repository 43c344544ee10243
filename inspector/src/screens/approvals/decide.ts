/** A decision is sent once: its button waits meanwhile, what does not fit is said beside it. */
import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useState } from "react";
import { type DecisionRequest, RathError } from "../../../../src/client/client.ts";
import { useClient } from "../../client.tsx";
import { say } from "../../shell/toasts.tsx";
import type { ForPeople } from "./waiting.ts";
import { subjectOf } from "./words.ts";

export interface Deciding {
  readonly send: (decision: DecisionRequest, done: string) => Promise<boolean>;
  readonly busy: boolean;
  readonly problem: string | undefined;
}

export function useDeciding(pending: ForPeople, decided: (id: string) => void): Deciding {
  const { pending: calls } = useClient();
  const queries = useQueryClient();
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const send = useCallback(
    async (decision: DecisionRequest, done: string): Promise<boolean> => {
      const subject = subjectOf(pending).slice(0, 80);
      setBusy(true);
      setProblem(undefined);
      try {
        await calls.decide(pending.id, decision);
        say(`${done}: ${subject}`);
      } catch (error) {
        const isLate = RathError.is(error, "pending.answered") || RathError.is(error, "pending.not-found");
        if (!isLate) {
          setProblem(RathError.is(error) ? `${error.message} (${error.code})` : String(error));
          setBusy(false);
          return false;
        }
        say(`Somebody was faster, or its time was over: ${subject}`, "bad");
      }
      setBusy(false);
      decided(pending.id);
      void queries.invalidateQueries({ queryKey: ["pending"] });
      void queries.invalidateQueries({ queryKey: ["decisions"] });
      void queries.invalidateQueries({ queryKey: ["decided"] });
      return true;
    },
    [calls, pending, decided, queries],
  );
  return { send, busy, problem };
}
