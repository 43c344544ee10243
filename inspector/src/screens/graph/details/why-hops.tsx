/** The events that led to one, nearest first. What a model had read was in its context; that it was the cause is never said. */
import { useQuery } from "@tanstack/react-query";
import type { WhyResource } from "../../../../../src/client/client.ts";
import { neutral } from "../../../../../src/wire/neutral.ts";
import { useClient } from "../../../client.tsx";
import { Failure } from "../../../parts/failure.tsx";
import { Loading } from "../../../parts/loading.tsx";
import classes from "./details.module.css";

const most = 40;

interface Props {
  readonly session: string;
  readonly event: string;
  readonly goTo: (event: string) => void;
}

export function WhyHops({ session, event, goTo }: Props) {
  const { sessions } = useClient();
  const { data, error, refetch } = useQuery({
    queryKey: ["why", session, event],
    queryFn: ({ signal }) => sessions.why(session, { event, signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <section className={classes["section"]} aria-label="What led to it">
      <h3>What led to it</h3>
      {error !== null && <Failure error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && <Loading what="what led to it" />}
      {data?.hops.length === 0 && <p className="quiet">Nothing on record led to it: it came from outside.</p>}
      <ol className={classes["hops"]}>
        {data?.hops.slice(0, most).map((hop, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: an event may explain several hops, and their order does not change
          <HopLine key={index} hop={hop} goTo={goTo} />
        ))}
      </ol>
      {data !== undefined && data.hops.length > most && <p className="quiet small">and {data.hops.length - most} more, farther away</p>}
    </section>
  );
}

function HopLine({ hop, goTo }: { readonly hop: WhyResource["hops"][number]; readonly goTo: (event: string) => void }) {
  const { relation, summary, event } = hop;
  return (
    <li>
      <button type="button" data-look="plain" className={classes["hop"]} onClick={() => goTo(event.id)}>
        <span className={classes["relation"]}>{relation.replaceAll("-", " ")}</span>
        <span className="given">{neutral(summary.slice(0, 300))}</span>
      </button>
    </li>
  );
}
