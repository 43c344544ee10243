/** One run: how it stands and why, who held it, what it may spend, and what can be done to it. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { RunDetail } from "../../../../src/client/client.ts";
import { count, money } from "../../../../src/wire/format.ts";
import { pendingText } from "../../../../src/wire/pending-line.ts";
import { useClient, useMay } from "../../client.tsx";
import { Ago, Within } from "../../desk/time-text.tsx";
import { useNow } from "../../desk/use-now.ts";
import { Badge, StatusBadge } from "../../parts/badge.tsx";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Failure } from "../../parts/failure.tsx";
import { GivenText } from "../../parts/given-text.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Loading } from "../../parts/loading.tsx";
import { useKeys } from "../../shell/keys.ts";
import { sessionName } from "./run-columns.tsx";
import { RunDialog, type RunVerb } from "./run-dialogs.tsx";
import { RunFacts } from "./run-facts.tsx";
import { outcomeWords } from "./run-words.ts";
import classes from "./runs.module.css";
import { stuckWhy } from "./stuck.ts";

const ended: ReadonlySet<string> = new Set(["done", "failed", "cancelled"]);

export function RunPane({ run, close }: { readonly run: string; readonly close: () => void }) {
  const { runs } = useClient();
  const { data, error, refetch } = useQuery({
    queryKey: ["runs", "one", run],
    queryFn: ({ signal }) => runs.get(run, { signal }),
    refetchInterval: ({ state }) => (state.data !== undefined && ended.has(state.data.status) ? false : 5000),
  });
  return (
    <aside className={classes["pane"]} aria-label="The run">
      {data === undefined ? (
        error === null ? (
          <Loading what="the run" />
        ) : (
          <Failure error={error} retry={() => void refetch()} />
        )
      ) : (
        <Shown run={data} close={close} />
      )}
    </aside>
  );
}

function Shown({ run, close }: { readonly run: RunDetail; readonly close: () => void }) {
  const queries = useQueryClient();
  const mayChange = useMay("runs:write") && !ended.has(run.status);
  const [verb, setVerb] = useState<RunVerb>();
  useKeys(
    mayChange
      ? [
          { keys: "x", does: "cancel the run", act: () => setVerb("cancel") },
          { keys: "r", does: "resume the run", act: () => setVerb("resume") },
          { keys: "s", does: "send it a signal", act: () => setVerb("signal") },
        ]
      : [],
  );
  return (
    <>
      <About run={run} close={close} />
      <Body run={run} />
      {mayChange && <Verbs choose={setVerb} />}
      {verb !== undefined && (
        <RunDialog
          {...{ verb, run }}
          close={() => setVerb(undefined)}
          done={() => void queries.invalidateQueries({ queryKey: ["runs"] })}
        />
      )}
    </>
  );
}

function About({ run: { id, workflow, status }, close }: { readonly run: RunDetail; readonly close: () => void }) {
  return (
    <header className={classes["about"]}>
      <h2 className="given clip">{workflow}</h2>
      <StatusBadge status={status} />
      <button type="button" data-look="plain" aria-label="Close" onClick={close}>
        <Icon name="close" />
      </button>
      <p className="quiet small">
        <code>{id}</code> <CopyButton text={id} what="the id of the run" />
      </p>
    </header>
  );
}

function Body({ run }: { readonly run: RunDetail }) {
  const { session, outcome, cancel, usage } = run;
  const now = useNow();
  const stuck = stuckWhy({ run, pending: outcome.pending, since: run.takenUp.at(-1)?.at ?? run.started }, now);
  return (
    <div className={classes["body"]}>
      {stuck !== undefined && (
        <p className={classes["stuck"]} role="status">
          <Badge tone="bad">stuck</Badge> {stuck}
        </p>
      )}
      <p>{outcomeWords(run)}</p>
      {outcome.error !== undefined && (
        <div className={classes["error"]}>
          <code className={`${classes["code"]} given`}>{outcome.error.code}</code>
          <GivenText text={outcome.error.message} />
        </div>
      )}
      {cancel !== undefined && (
        <p className="given">
          {cancel.by} asked for its end <Ago at={cancel.at} />
          {cancel.reason !== undefined && `: ${cancel.reason.slice(0, 500)}`}
        </p>
      )}
      {outcome.pending !== undefined && outcome.pending.length > 0 && <WaitsFor run={run} />}
      <p>
        <Link to="/s/$session" params={{ session }} search={{}} className="given">
          {sessionName(run, run)}
        </Link>{" "}
        <span className="quiet small">the session it works on</span>
      </p>
      <RunFacts run={run} />
      {usage !== undefined && (
        <p className="quiet small">
          Behind it lie {count(usage.input + usage.output)} tokens and {money(usage.usd)}.
        </p>
      )}
    </div>
  );
}

const mostShown = 20;

function WaitsFor({ run: { outcome, session } }: { readonly run: RunDetail }) {
  const pending = outcome.pending ?? [];
  return (
    <section aria-label="Waits for">
      <h3>Waits for</h3>
      <ul className={classes["waits"]}>
        {pending.slice(0, mostShown).map((one) => (
          <li key={one.id}>
            <Badge tone={one.kind === "unknown" ? "bad" : "warn"}>{one.kind}</Badge>{" "}
            {one.kind === "question" || one.kind === "approval" || one.kind === "unknown" ? (
              <Link to="/approvals" search={{ pending: one.id, whose: "all" }} className="given">
                {pendingText(one as never).slice(0, 300)}
              </Link>
            ) : (
              <span className="given">{one.kind === "timer" ? <Within at={one.wakes} /> : pendingText(one as never).slice(0, 300)}</span>
            )}
          </li>
        ))}
      </ul>
      {pending.length > mostShown && (
        <Link to="/approvals" search={{ session, whose: "all" }}>
          and {pending.length - mostShown} more
        </Link>
      )}
    </section>
  );
}

function Verbs({ choose }: { readonly choose: (verb: RunVerb) => void }) {
  return (
    <footer className={classes["footer"]}>
      <button type="button" data-look="bad" onClick={() => choose("cancel")}>
        Cancel… <kbd>x</kbd>
      </button>
      <button type="button" onClick={() => choose("resume")}>
        Resume… <kbd>r</kbd>
      </button>
      <button type="button" onClick={() => choose("signal")}>
        Signal… <kbd>s</kbd>
      </button>
    </footer>
  );
}
