/** How the session stood. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { count, money } from "../../../../src/wire/format.ts";
import { neutralJson } from "../../../../src/wire/neutral.ts";
import { useClient } from "../../client.tsx";
import { useEventLines } from "../../lineage/event-lines.ts";
import { StatusBadge } from "../../parts/badge.tsx";
import { Failure } from "../../parts/failure.tsx";
import { GivenText } from "../../parts/given-text.tsx";
import type { LookedPlace } from "../../session/use-place.ts";
import { openCalls } from "./moments.ts";
import classes from "./scrubber.module.css";

interface Props {
  readonly place: LookedPlace;
  readonly rows: readonly number[];
  readonly at: number;
  readonly isSliding: boolean;
}

export function StateThen({ place, rows, at, isSliding }: Props) {
  const { session, at: event } = place;
  const { sessions } = useClient();
  const { data, error, refetch, isPlaceholderData } = useQuery({
    queryKey: ["session", session, "at", event],
    queryFn: ({ signal }) => sessions.get(session, { at: event, signal }),
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <section className={classes["pane"]} aria-label="State" aria-busy={isSliding || isPlaceholderData} data-testid="state">
      <h3>State</h3>
      {error !== null ? (
        <Failure error={error} retry={() => void refetch()} />
      ) : data === undefined ? (
        <p className="quiet">Reading…</p>
      ) : (
        <>
          <dl className={classes["facts"]}>
            <dt>Status</dt>
            <dd>
              <StatusBadge status={data.status} /> {data.stop !== undefined && <span className="given">{data.stop}</span>}
            </dd>
            <dt>Tokens</dt>
            <dd className={classes["figure"]} data-testid="tokens">
              {count(data.usage.input)} in · {count(data.usage.output)} out
            </dd>
            <dt>Cost</dt>
            <dd className={classes["figure"]}>{money(data.usage.usd)}</dd>
            <dt>Placed in</dt>
            <dd className="given">{data.placement === undefined ? "no sandbox" : placementText(data.placement)}</dd>
          </dl>
          <Waits place={place} rows={rows} at={at} />
          <h4>Newest output</h4>
          {data.text === "" ? (
            <p className="quiet">None that is a text: what an effect gave stands with its event.</p>
          ) : (
            <GivenText key={event} text={data.text} />
          )}
        </>
      )}
    </section>
  );
}

function placementText({ sandbox, ...more }: { readonly sandbox: string; readonly [name: string]: unknown }): string {
  const parts = Object.entries(more).map(([name, value]) => `${name} ${typeof value === "string" ? value : neutralJson(value)}`);
  return [sandbox, ...parts].join(" · ").slice(0, 400);
}

const mostWaits = 8;

/** What had been asked for and had no result then. */
function Waits({ place: { lineage }, rows, at }: Pick<Props, "place" | "rows" | "at">) {
  const open = useMemo(() => openCalls(lineage, rows, at), [lineage, rows, at]);
  const shown = open.slice(0, mostWaits);
  const lineOf = useEventLines(shown.map((row) => lineage.id(row)));
  return (
    <>
      <h4>
        Without a result <span className="quiet">{open.length}</span>
      </h4>
      {open.length === 0 ? (
        <p className="quiet">Nothing was waited for.</p>
      ) : (
        <ul className={classes["events"]}>
          {shown.map((row) => (
            <li key={row} className="clip given">
              {lineOf(lineage.id(row))?.slice(0, 200) ?? lineage.kind(row)}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
