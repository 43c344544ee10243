/** Why it is believed: the event that wrote it, what justifies that, and what was in context then. */
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { count, plural } from "../../../../src/wire/format.ts";
import { neutral } from "../../../../src/wire/neutral.ts";
import { useClient } from "../../client.tsx";
import { EventLink } from "../../parts/event-link.tsx";
import { Failure } from "../../parts/failure.tsx";
import { shortId } from "../../parts/short-id.ts";
import { inTree, type PlacedHop, relationText } from "./hop-tree.ts";
import classes from "./item-view.module.css";

const shownAtFirst = 8;
const shownMore = 100;
const deepest = 6;
const longest = 600;

export function WhyMemory({ name }: { readonly name: string }) {
  const { memory } = useClient();
  const [most, setMost] = useState(shownAtFirst);
  const { data, error, refetch } = useQuery({
    queryKey: ["memory", "why", name],
    queryFn: ({ signal }) => memory.why(name, { signal }),
  });
  const hops = useMemo(() => inTree(data?.hops ?? []), [data]);
  const rest = hops.length - most;
  return (
    <section aria-labelledby="why">
      <h3 id="why">Why it is believed</h3>
      {error !== null && <Failure error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && <p className="quiet">Reading its evidence…</p>}
      {data !== undefined && hops.length === 0 && <p className="quiet">Nothing on record led to it: a person or the program said it.</p>}
      <ol className={classes["hops"]}>
        {hops.slice(0, most).map((placed) => (
          <HopView key={placed.index} placed={placed} />
        ))}
      </ol>
      {rest > 0 && (
        <button type="button" onClick={() => setMost(most + shownMore)}>
          {plural(rest, "more hop")}
        </button>
      )}
      {hops.some(({ hop }) => hop.relation === "was-in-context") && (
        <p className="quiet small">“Was in context” says that a model had it before it; not that it was the cause.</p>
      )}
    </section>
  );
}

function HopView({ placed }: { readonly placed: PlacedHop }) {
  const { event, relation, summary } = placed.hop;
  return (
    <li className={classes["hop"]} style={{ marginInlineStart: `${Math.min(placed.depth, deepest) * 1.25}rem` }}>
      <span className={classes["relation"]} data-relation={relation}>
        {relationText(placed)}
      </span>
      <EventLink session={event.session} event={event.id} />
      <span className="quiet small">
        {event.kind}, step {count(event.step)} of <code>{shortId(event.session)}</code>
      </span>
      <span className={classes["summary"]}>{neutral(summary.slice(0, longest))}</span>
    </li>
  );
}
