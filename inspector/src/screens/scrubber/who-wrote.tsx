/** Backwards: who last wrote a line of a file, or a memory, and what led to it. */
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useId, useState } from "react";
import { RathError, type WhyResource } from "../../../../src/client/client.ts";
import { neutral } from "../../../../src/wire/neutral.ts";
import { useClient } from "../../client.tsx";
import { branchWith } from "../../lineage/branch-rows.ts";
import type { Lineage } from "../../lineage/lineage.ts";
import type { LookedPlace } from "../../session/use-place.ts";
import classes from "./scrubber.module.css";

const mostHops = 12;

export function WhoWrote({ place }: { readonly place: LookedPlace }) {
  const { session, at, lineage } = place;
  const { sessions } = useClient();
  const navigate = useNavigate();
  const field = useId();
  const { who = "" } = useSearch({ strict: false }) as { who?: string };
  const [text, setText] = useState(who);
  const { data, error, isFetching } = useQuery({
    queryKey: ["why", session, at, who],
    queryFn: ({ signal }) => sessions.why(session, { ...askedOf(who), at, signal }),
    enabled: who !== "",
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <section className={classes["pane"]} data-wide="true" aria-label="Who last wrote this?">
      <h3>Who last wrote this?</h3>
      <form
        className={classes["who"]}
        onSubmit={(event) => {
          event.preventDefault();
          void navigate({ to: ".", search: (kept: object) => ({ ...kept, who: text.trim() }), replace: true });
        }}
      >
        <label htmlFor={field}>A line as path:line, or the key of a memory</label>
        <input id={field} value={text} placeholder="src/index.ts:12" onChange={(event) => setText(event.target.value)} />
        <button type="submit">Find out</button>
      </form>
      {isFetching && <p className="quiet">Looking back…</p>}
      {error !== null && (
        <p role="alert" className="given">
          {RathError.is(error) ? error.message : String(error)}
        </p>
      )}
      {data !== undefined && error === null && (
        <ol className={classes["hops"]} data-testid="hops">
          {data.hops.slice(0, mostHops).map((hop, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: an event may explain several hops, and their order does not change
            <HopLine key={index} hop={hop} lineage={lineage} />
          ))}
        </ol>
      )}
    </section>
  );
}

interface HopProps {
  readonly hop: WhyResource["hops"][number];
  readonly lineage: Lineage;
}

function HopLine({ hop: { event, relation, summary }, lineage }: HopProps) {
  const row = lineage.rowOf(event.id);
  const line = (
    <>
      <span className={classes["stepNumber"]}>{event.step}</span>
      <span className="given">{neutral(summary.slice(0, 300))}</span>
    </>
  );
  return (
    <li>
      <span className="quiet small">{relation}</span>
      {row === undefined ? (
        // What led to it may lie in another session.
        <Link
          to="/s/$session/scrubber"
          params={{ session: event.session }}
          search={{ at: event.id }}
          title="Go to this moment of another session"
        >
          {line}
        </Link>
      ) : (
        <Link
          to="."
          search={(kept) => ({ ...kept, at: event.id, branch: branchWith(lineage, kept.branch, row) })}
          title="Go back to this moment"
        >
          {line}
        </Link>
      )}
      <span className="quiet small given">{event.by}</span>
    </li>
  );
}

function askedOf(who: string): { readonly line: string } | { readonly memory: string } {
  return /:[1-9]\d{0,8}$/.test(who) ? { line: who } : { memory: who };
}
