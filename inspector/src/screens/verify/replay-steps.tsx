/** Whether the program still does what it recorded: each step of each run. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { useMemo, useRef, useState } from "react";
import type { ReplayResource, VerificationResource } from "../../../../src/client/client.ts";
import { count, plural } from "../../../../src/wire/format.ts";
import { neutral, neutralJson } from "../../../../src/wire/neutral.ts";
import { useEventLines } from "../../lineage/event-lines.ts";
import { Badge } from "../../parts/badge.tsx";
import { EventLink } from "../../parts/event-link.tsx";
import { GivenText } from "../../parts/given-text.tsx";
import { shortId } from "../../parts/short-id.ts";
import { stepTones, stepWords } from "../../parts/step-result.ts";
import { sourceOf } from "./checklist.ts";
import classes from "./replay-steps.module.css";

type Step = ReplayResource["steps"][number];

const rowHeight = 28;
const longestLine = 300;

export function ReplaySteps({ replays }: { readonly replays: VerificationResource["replays"] }) {
  const [only, setOnly] = useState(false);
  const steps = useMemo(
    () => replays.flatMap((report) => report.steps).filter(({ result }) => !only || (result !== "same" && result !== "nested")),
    [replays, only],
  );
  const differing = useMemo(
    () => replays.reduce((sum, report) => sum + report.steps.filter(({ result }) => result !== "same" && result !== "nested").length, 0),
    [replays],
  );
  return (
    <section aria-labelledby="replay">
      <h2 id="replay">Replay</h2>
      <p className="quiet">
        The runs were executed again against their record; nothing was called: what models and tools gave is taken from it.
      </p>
      {replays.map((report) => (
        <RunReplay key={report.run} report={report} />
      ))}
      {differing > 0 && (
        <label className={classes["only"]}>
          <input type="checkbox" checked={only} onChange={(event) => setOnly(event.target.checked)} /> Only the {plural(differing, "step")}{" "}
          that are not identical
        </label>
      )}
      <StepList steps={steps} />
    </section>
  );
}

function RunReplay({ report }: { readonly report: ReplayResource }) {
  const { run, workflow, events, identical, at, field, expected, got } = report;
  return (
    <div className={classes["run"]} data-identical={identical}>
      <p>
        <Badge tone={identical ? "ok" : "bad"}>{identical ? "identical" : "diverged"}</Badge>{" "}
        <strong className="given">{neutral(workflow.slice(0, 100))}</strong>{" "}
        <span className="quiet small">
          run <code>{shortId(run)}</code>, {plural(events, "event")}
        </span>
      </p>
      {at !== undefined && (
        <div className={classes["divergence"]}>
          <p>
            First divergence at{" "}
            <EventLink session={at.session} event={at.id}>
              step {count(at.step)}
            </EventLink>{" "}
            <code>{at.kind}</code>
            {field !== undefined && (
              <>
                , in <code className="given">{neutral(field.slice(0, 200))}</code>
              </>
            )}
          </p>
          <dl>
            <dt>On record</dt>
            <dd>{expected === undefined ? <span className="quiet">nothing</span> : <GivenText text={textOf(expected)} mono />}</dd>
            <dt>The program now</dt>
            <dd>{got === undefined ? <span className="quiet">does not ask for it</span> : <GivenText text={textOf(got)} mono />}</dd>
          </dl>
        </div>
      )}
    </div>
  );
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : neutralJson(value, 1);
}

function StepList({ steps }: { readonly steps: readonly Step[] }) {
  const scroller = useRef<HTMLElement>(null);
  const virtual = useVirtualizer({
    count: steps.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 10,
    useFlushSync: false,
  });
  const shown = virtual.getVirtualItems();
  const line = useEventLines(shown.map(({ index }) => steps[index]?.event ?? ""));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is scrolled by keys, too
    <section className={classes["steps"]} ref={scroller} aria-label="Steps of the replay" tabIndex={0}>
      <ol className={classes["canvas"]} style={{ height: virtual.getTotalSize() }}>
        {shown.map(({ index, key, start }) => {
          const step = steps[index];
          if (step === undefined) return null;
          return (
            <li key={key} className={classes["step"]} data-result={step.result} style={{ transform: `translateY(${start}px)` }}>
              <span className="number">{step.step}</span>
              <EventLink session={step.session} event={step.event} />
              <span className="clip given" title={step.kind}>
                {neutral((line(step.event) ?? step.kind).slice(0, longestLine).replace(/\s+/g, " "))}
              </span>
              <span className="quiet small">{sourceOf(step)}</span>
              <Badge tone={stepTones[step.result]}>{stepWords[step.result]}</Badge>
            </li>
          );
        })}
      </ol>
    </section>
  );
}
