/** Where it was recalled, and which model calls had it before them. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { MemoryUseResource } from "../../../../src/client/client.ts";
import { ago, plural, shortEvent } from "../../../../src/wire/format.ts";
import { neutral } from "../../../../src/wire/neutral.ts";
import { useClient } from "../../client.tsx";
import { Badge } from "../../parts/badge.tsx";
import { EventLink } from "../../parts/event-link.tsx";
import { Failure } from "../../parts/failure.tsx";
import classes from "./item-view.module.css";

const perPage = 50;
const mostReaders = 6;

export function UsedBy({ uri }: { readonly uri: string }) {
  const { memory } = useClient();
  const { data, error, refetch, hasNextPage, fetchNextPage } = useInfiniteQuery({
    queryKey: ["memory", "uses", uri],
    queryFn: ({ pageParam, signal }) => memory.usedBy(uri, { limit: perPage, signal }).page(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next,
  });
  const uses = data?.pages.flatMap(({ items }) => items) ?? [];
  return (
    <section aria-labelledby="used-by">
      <h3 id="used-by">Used by</h3>
      {error !== null && <Failure error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && <p className="quiet">Reading where it was recalled…</p>}
      {data !== undefined && uses.length === 0 && <p className="quiet">No session has recalled it.</p>}
      <ul className={classes["uses"]}>
        {uses.map((use) => (
          <UseView key={`${use.event} ${use.version}`} use={use} />
        ))}
      </ul>
      {hasNextPage && (
        <button type="button" onClick={() => void fetchNextPage()}>
          More
        </button>
      )}
    </section>
  );
}

function UseView({ use: { session, event, version, at, by, query, injected, readBy } }: { readonly use: MemoryUseResource }) {
  const [all, setAll] = useState(false);
  const shown = all ? readBy : readBy.slice(0, mostReaders);
  return (
    <li className={classes["use"]}>
      <span className={classes["line"]}>
        <EventLink session={session} event={event} />
        <span className="given clip">{neutral(by.slice(0, 120))}</span>
        <span className="quiet small">
          version {version} · {ago(at, new Date())}
        </span>
        <Badge tone={injected ? "accent" : "quiet"}>{injected ? "given to a model" : "not given to a model"}</Badge>
      </span>
      {query !== undefined && (
        <span className="quiet small">
          recalled for <q className="given">{neutral(query.slice(0, 300))}</q>
        </span>
      )}
      {readBy.length > 0 && (
        <span className={classes["readers"]}>
          <span className="quiet small">was in the context of {plural(readBy.length, "model call")}:</span>
          {shown.map((call) => (
            <EventLink key={call} session={session} event={call} screen="call">
              <code>{shortEvent(call)}</code>
            </EventLink>
          ))}
          {readBy.length > shown.length && (
            <button type="button" data-look="plain" onClick={() => setAll(true)}>
              {readBy.length - shown.length} more
            </button>
          )}
        </span>
      )}
    </li>
  );
}
