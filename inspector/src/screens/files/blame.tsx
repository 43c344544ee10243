/** A file with the event that wrote each line before it. */

import { Link, useSearch } from "@tanstack/react-router";
import { useEffect, useMemo } from "react";
import type { EventIndex } from "../../../../src/client/client.ts";
import { count } from "../../../../src/wire/format.ts";
import { neutral } from "../../../../src/wire/neutral.ts";
import { branchWith } from "../../lineage/branch-rows.ts";
import type { Lineage } from "../../lineage/lineage.ts";
import { agentName } from "../../parts/agent-name.ts";
import { CodeBlock } from "../../parts/code-block.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Failure } from "../../parts/failure.tsx";
import { Loading } from "../../parts/loading.tsx";
import type { LookedPlace } from "../../session/use-place.ts";
import classes from "./files.module.css";
import { useBlame } from "./use-files.ts";

/** So many lines are asked for by themselves. */
const mostLines = 5000;

export function Blame({ place, path }: { readonly place: LookedPlace; readonly path: string }) {
  const { lineage } = place;
  const { line } = useSearch({ strict: false }) as { line?: string };
  const { data, error, refetch, hasNextPage, isFetching, fetchNextPage } = useBlame(place, path, true);
  const lines = useMemo(() => data?.pages.flatMap((page) => page.items) ?? [], [data]);
  const text = useMemo(() => lines.map((one) => one.text).join("\n"), [lines]);
  const events = useMemo(() => new Map(data?.pages.flatMap((page) => page.events.map((event) => [event.id, event] as const))), [data]);
  useEffect(() => {
    if (hasNextPage && !isFetching && lines.length < mostLines) void fetchNextPage();
  }, [hasNextPage, isFetching, lines.length, fetchNextPage]);
  if (error !== null) return <Failure error={error} retry={() => void refetch()} />;
  if (data === undefined) return <Loading what="who wrote it" />;
  if (lines.length === 0) return <Empty title="No line has a writer">The file is empty, or it is no text.</Empty>;
  const gutter = (number: number) => {
    const id = lines[number - 1]?.event ?? "";
    // As often as the writer changes.
    return <Writer event={lines[number - 2]?.event === id ? undefined : events.get(id)} lineage={lineage} />;
  };
  return (
    <>
      <CodeBlock text={text} path={path} fill gutter={gutter} line={line === undefined ? undefined : Number(line)} />
      {hasNextPage && lines.length >= mostLines && (
        <button type="button" onClick={() => void fetchNextPage()}>
          Who wrote the lines after {count(lines.length)}
        </button>
      )}
    </>
  );
}

interface WriterProps {
  readonly event: EventIndex | undefined;
  readonly lineage: Lineage;
}

function Writer({ event, lineage }: WriterProps) {
  if (event === undefined) return <span className={classes["writer"]} />;
  return (
    <Link
      className={classes["writer"]}
      to="/s/$session/graph"
      params={{ session: lineage.session }}
      search={(kept) => ({ ...kept, at: event.id, branch: branchWith(lineage, kept["branch"], lineage.rowOf(event.id)) })}
      title={`${event.kind} by ${neutral(event.by)}, step ${event.step}, ${event.at}`}
    >
      <span className={classes["step"]}>{event.step}</span> <span className="clip given">{neutral(agentName(event.by))}</span>
    </Link>
  );
}
