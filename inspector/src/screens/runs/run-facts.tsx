/** What is on record of a run beside how it stands: times, owners, limits, and the runs around it. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { RunDetail } from "../../../../src/client/client.ts";
import { plural } from "../../../../src/wire/format.ts";
import { Ago, Within } from "../../desk/time-text.tsx";
import { Badge } from "../../parts/badge.tsx";
import { shortId } from "../../parts/short-id.ts";
import { limitsWords } from "./run-words.ts";
import classes from "./runs.module.css";

export function RunFacts({ run }: { readonly run: RunDetail }) {
  const { started, ended, owner, wakeAt, deadline, limits, revision, priority, parent, compensates, status } = run;
  return (
    <>
      <dl className={classes["facts"]}>
        <Fact name="Started">
          <Ago at={started} />
        </Fact>
        {ended !== undefined && (
          <Fact name="Ended">
            <Ago at={ended} />
          </Fact>
        )}
        {owner !== undefined && (
          <Fact name="Held by">
            <code className="given">{owner}</code>
          </Fact>
        )}
        {wakeAt !== undefined && status !== "running" && (
          <Fact name="Wakes">
            <Within at={wakeAt} />
          </Fact>
        )}
        {deadline !== undefined && (
          <Fact name="Deadline">
            <Within at={deadline} />
          </Fact>
        )}
        {limits !== undefined && <Fact name="Limits">{limitsWords(limits)}</Fact>}
        {run.key !== undefined && (
          <Fact name="Key">
            <code className="given">{run.key.slice(0, 200)}</code>
          </Fact>
        )}
        {priority !== undefined && <Fact name="Priority">{priority}</Fact>}
        {revision !== undefined && (
          <Fact name="Revision">
            <code>{revision}</code>
          </Fact>
        )}
        {parent !== undefined && (
          <Fact name="Inside">
            <RunLink run={parent} />
          </Fact>
        )}
        {compensates !== undefined && (
          <Fact name="Makes good">
            <RunLink run={compensates} />
          </Fact>
        )}
      </dl>
      <TakenUp run={run} />
      <Children run={run} />
    </>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

function RunLink({ run }: { readonly run: string }) {
  return (
    <Link to="/runs" search={(kept) => ({ ...kept, run })} className="mono">
      {shortId(run)}
    </Link>
  );
}

const most = 20;

function TakenUp({ run: { takenUp } }: { readonly run: RunDetail }) {
  if (takenUp.length === 0) return null;
  return (
    <section aria-label="Taken up">
      <h3>Taken up {plural(takenUp.length, "time")}</h3>
      <ul className={classes["list"]}>
        {takenUp.slice(-most).map(({ at, worker, abandoned }) => (
          <li key={at}>
            <span className="quiet number">
              <Ago at={at} />
            </span>
            <code className="given clip">{worker}</code>
            {abandoned === true && <Badge tone="bad">the worker before died</Badge>}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Children({ run: { children } }: { readonly run: RunDetail }) {
  if (children.length === 0) return null;
  return (
    <section aria-label="Runs it started">
      <h3>Started {plural(children.length, "run")}</h3>
      <ul className={classes["list"]}>
        {children.slice(0, most).map(({ run, workflow }) => (
          <li key={run}>
            <span className="given">{workflow}</span> <RunLink run={run} />
          </li>
        ))}
      </ul>
    </section>
  );
}
