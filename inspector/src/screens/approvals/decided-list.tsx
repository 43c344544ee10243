/** What was decided, by whom and why: of one session, or the newest of all. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { DecidedResource } from "../../../../src/client/client.ts";
import { verdictText } from "../../../../src/wire/pending-line.ts";
import { useClient } from "../../client.tsx";
import { JsonText } from "../../desk/json-text.tsx";
import { Ago } from "../../desk/time-text.tsx";
import { Badge, type Tone } from "../../parts/badge.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Failure } from "../../parts/failure.tsx";
import { Loading } from "../../parts/loading.tsx";
import classes from "./approvals.module.css";
import { subjectOf } from "./words.ts";

const pageSize = 40;

export function DecidedList({ session }: { readonly session: string | undefined }) {
  const { pending } = useClient();
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetching } = useInfiniteQuery({
    queryKey: ["decisions", session],
    queryFn: ({ pageParam, signal }) => pending.decisions({ session, limit: pageSize, signal }).page(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next,
    refetchOnMount: "always",
  });
  if (data === undefined)
    return error === null ? <Loading what="what was decided" /> : <Failure error={error} retry={() => void refetch()} />;
  const items = data.pages.flatMap((page) => page.items);
  if (items.length === 0 && !hasNextPage)
    return <Empty title="Nothing was decided yet">What people approve, deny and answer is listed here, with who and why.</Empty>;
  return (
    <div className={classes["history"]}>
      <ul>
        {items.map((one) => (
          <DecidedItem key={one.id ?? one.pending.id} decided={one} />
        ))}
      </ul>
      {hasNextPage && (
        <button type="button" disabled={isFetching} onClick={() => void fetchNextPage()}>
          Show more
        </button>
      )}
    </div>
  );
}

function DecidedItem({ decided }: { readonly decided: DecidedResource }) {
  const { pending, by, at, reason, input, approve, expired } = decided;
  const tone: Tone = approve === true ? "ok" : approve === false || expired === true ? "bad" : "accent";
  return (
    <li>
      <span className={classes["line"]}>
        <Badge tone={tone}>{approve === undefined && expired !== true ? "said" : verdictText(decided as never)}</Badge>
        <Link to="/s/$session/transcript" params={{ session: pending.session }} search={{ at: pending.id }} className="given clip">
          {subjectOf(pending).slice(0, 200)}
        </Link>
        {at !== undefined && (
          <span className="quiet small number">
            <Ago at={at} />
          </span>
        )}
      </span>
      {approve === undefined && expired !== true && <p className="given">{verdictText(decided as never).slice(0, 500)}</p>}
      <p className="quiet small given">
        {by ?? "nobody"}
        {reason !== undefined && `: ${reason.slice(0, 500)}`}
      </p>
      {input !== undefined && (
        <details>
          <summary>with another input</summary>
          <div className={classes["json"]}>
            <JsonText value={input} />
          </div>
        </details>
      )}
    </li>
  );
}
