/** How much hangs on a call: where it acts, who wants the yes, and what a crash may do to it. */
import { useQuery } from "@tanstack/react-query";
import type { PendingDetail } from "../../../../src/client/client.ts";
import { useClient } from "../../client.tsx";
import { Badge } from "../../parts/badge.tsx";
import { clipped } from "../../parts/clipped.ts";
import classes from "./approvals.module.css";
import { calledOf, repeatWords, riskOf, ruleWords } from "./words.ts";

const tones = { low: "ok", medium: "warn", high: "bad" } as const;

export function ApprovalFacts({ detail, changesFiles }: { readonly detail: PendingDetail; readonly changesFiles: boolean }) {
  const called = calledOf(detail);
  const { pending } = detail;
  const { sessions } = useClient();
  const isCalledByModel = typeof called.index === "number";
  const { data: session } = useQuery({
    queryKey: ["session", pending.session],
    queryFn: ({ signal }) => sessions.get(pending.session, { signal }),
  });
  const tool = pending.kind === "approval" ? pending.tool : "";
  const { data: description } = useQuery({
    queryKey: ["tool-description", pending.id],
    queryFn: async ({ signal }) => {
      const { request } = await sessions.request(pending.session, { at: pending.id, signal });
      return request.tools.find(({ name }) => name === tool)?.description ?? "";
    },
    enabled: isCalledByModel,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const risk = riskOf(called, changesFiles);
  const { sandbox, workspace } = (session?.placement ?? {}) as { readonly sandbox?: string; readonly workspace?: unknown };
  return (
    <section aria-label="Risk">
      <h3>
        Risk <Badge tone={tones[risk]}>{risk}</Badge>
      </h3>
      <ul className={classes["facts"]}>
        <li>{ruleWords(called)}</li>
        <li>{repeatWords(called)}</li>
        {changesFiles && <li>It changes files of the workspace.</li>}
        {sandbox !== undefined && (
          <li>
            It acts in the sandbox <code className="given">{sandbox}</code>
            {typeof workspace === "string" && (
              <>
                {" on "}
                <code className="given">{workspace.slice(0, 300)}</code>
              </>
            )}
            .
          </li>
        )}
        {description !== undefined && description !== "" && (
          <li className="given">
            The tool says of itself: <q>{clipped(description, 600)}</q>
          </li>
        )}
      </ul>
    </section>
  );
}
