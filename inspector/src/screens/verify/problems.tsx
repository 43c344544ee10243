/** What is wrong, each with its exact place; what that means and what to do is said once for each kind. */
import { useState } from "react";
import { count, plural, shortEvent } from "../../../../src/wire/format.ts";
import { neutral } from "../../../../src/wire/neutral.ts";
import { CopyButton } from "../../parts/copy-button.tsx";
import { EventLink } from "../../parts/event-link.tsx";
import type { Problem } from "./checklist.ts";
import classes from "./problems.module.css";

const shownAtFirst = 50;
const shownMore = 200;

export function Problems({ problems, session }: { readonly problems: readonly Problem[]; readonly session: string }) {
  const kinds = [...new Map(problems.map((problem) => [problem.kind, problem])).values()];
  return (
    <section aria-labelledby="problems">
      <h2 id="problems">What is wrong</h2>
      {kinds.map(({ kind, means, next }) => (
        <KindOfProblem key={kind} means={means} next={next} problems={problems.filter((one) => one.kind === kind)} session={session} />
      ))}
    </section>
  );
}

interface Props {
  readonly means: string;
  readonly next: string;
  readonly problems: readonly Problem[];
  readonly session: string;
}

function KindOfProblem({ means, next, problems, session }: Props) {
  const [most, setMost] = useState(shownAtFirst);
  const rest = problems.length - most;
  return (
    <div className={classes["kind"]}>
      <p>
        <strong>{means}</strong> Next: {next}.
      </p>
      <ul>
        {problems.slice(0, most).map((problem, number) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the list is never changed
          <li key={number}>
            <ProblemPlace problem={problem} session={session} />
            <span className="given">{neutral(problem.problem.slice(0, 1000))}</span>
          </li>
        ))}
      </ul>
      {rest > 0 && (
        <button type="button" onClick={() => setMost(most + shownMore)}>
          {plural(rest, "more problem")}
        </button>
      )}
    </div>
  );
}

/** Only events have a place in a session; of logs, runs and anchors there is the name alone. */
function ProblemPlace({ problem: { event, session, step, field }, session: of }: { readonly problem: Problem; readonly session: string }) {
  const isEvent = /^[0-9a-f]{64}$/.test(event);
  return (
    <span className={classes["place"]}>
      {step !== undefined && <span className="number">step {count(step)}</span>}
      <code title={event}>{shortEvent(event)}</code>
      <CopyButton text={event} what="the id" />
      {isEvent && (
        <>
          <EventLink session={session ?? of} event={event} screen="raw">
            Raw
          </EventLink>
          <EventLink session={session ?? of} event={event}>
            Graph
          </EventLink>
        </>
      )}
      {field !== undefined && <code className="quiet given">{neutral(field.slice(0, 100))}</code>}
    </span>
  );
}
