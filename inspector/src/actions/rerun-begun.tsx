/** A rerun that goes on: how it stands, and what one can look at. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { RerunResource } from "../../../src/client/client.ts";
import { useClient } from "../client.tsx";
import { StatusBadge } from "../parts/badge.tsx";
import { Dialog, DialogActions } from "../parts/dialog.tsx";
import { shortId } from "../parts/short-id.ts";
import { Problem } from "./action-form.tsx";
import classes from "./actions.module.css";
import { useGo } from "./use-go.ts";

const lookMs = 700;

/** How it stands: one that waits on any of its branches waits. */
function useRerun({ run }: RerunResource) {
  const { runs } = useClient();
  return useQuery({
    queryKey: ["rerun", run],
    queryFn: ({ signal }) => runs.get(run, { signal }),
    refetchInterval: ({ state }) => (state.data?.status === "running" || state.data?.status === "waiting" ? lookMs : false),
  });
}

export function RerunBegun({ begun, close }: { readonly begun: RerunResource; readonly close: () => void }) {
  const go = useGo();
  const { data, error } = useRerun(begun);
  const status = data?.status ?? "running";
  // Where it ended may be another branch than the one it began on.
  const made = (data?.ended === undefined ? undefined : data.outcome.session?.id) ?? begun.session;
  const problem = data?.outcome.error?.message ?? data?.outcome.reason;
  return (
    <Dialog title="It runs again" close={close}>
      <div className={classes["done"]}>
        <p role="status">
          <StatusBadge status={status} /> on the fork <code>{shortId(begun.session)}</code>.{" "}
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
              // As long as it goes on it is followed.
              go(made, data?.ended === undefined ? undefined : data.outcome.session?.head);
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
