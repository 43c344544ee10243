/** A rerun that goes on: how it stands, and what one can look at. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { RerunResource } from "../../../src/client/client.ts";
import { useClient } from "../client.tsx";
import { StatusBadge } from "../parts/badge.tsx";
import { Dialog, DialogActions } from "../parts/dialog.tsx";
import { Problem } from "./action-form.tsx";
import classes from "./actions.module.css";
import { useGo } from "./use-go.ts";

interface Ended {
  readonly status: string;
  readonly message?: string;
  readonly reason?: string;
  /** Where it ended, which may be another branch than the one it began on. */
  readonly result?: { readonly session: string };
}

const lookMs = 700;

/** How it stands. What it says of itself is in a log of its own. */
function useRerun({ run, session }: RerunResource) {
  const { sessions } = useClient();
  return useQuery({
    queryKey: ["rerun", run],
    queryFn: async ({ signal }) => {
      let ended: Ended | undefined;
      for await (const { kind, data } of sessions.events(run, { of: "log", limit: 500, signal }))
        if (kind === "run.ended") ended = data as Ended;
      if (ended !== undefined) return ended;
      const { waiting } = await sessions.get(session, { signal });
      return { status: waiting > 0 ? "waiting" : "running" } satisfies Ended;
    },
    refetchInterval: ({ state }) => (state.data?.status === "running" || state.data?.status === "waiting" ? lookMs : false),
  });
}

export function RerunBegun({ begun, close }: { readonly begun: RerunResource; readonly close: () => void }) {
  const go = useGo();
  const { data, error } = useRerun(begun);
  const status = data?.status ?? "running";
  const made = data?.result?.session ?? begun.session;
  const problem = status === "failed" || status === "cancelled" ? (data?.message ?? data?.reason) : undefined;
  return (
    <Dialog title="It runs again" close={close}>
      <div className={classes["done"]}>
        <p role="status">
          <StatusBadge status={status} /> on the fork <code>{begun.session.slice(0, 8)}</code>.{" "}
          {status === "running" && "What is equal is taken from the record."}
        </p>
        {status === "waiting" && (
          <p>
            It waits for somebody. <Link to="/approvals">To what needs me</Link>
          </p>
        )}
        <Problem error={problem} />
        <Problem error={error} />
        <DialogActions>
          <button
            type="button"
            onClick={() => {
              close();
              go(made);
            }}
          >
            Go to the fork
          </button>
          <Link to="/diff" search={{ a: begun.of, b: made }} data-look="main" className={classes["compare"]} onClick={close}>
            Compare with the original
          </Link>
        </DialogActions>
      </div>
    </Dialog>
  );
}
