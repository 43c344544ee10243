/** The event of the moment, with what it says. */
import { Link } from "@tanstack/react-router";
import { count, money, plural, seconds, shortEvent } from "../../../../src/wire/format.ts";
import { neutralJson } from "../../../../src/wire/neutral.ts";
import { useEventLines } from "../../lineage/event-lines.ts";
import type { Lineage } from "../../lineage/lineage.ts";
import { useEvent } from "../../lineage/use-event.ts";
import { StatusBadge } from "../../parts/badge.tsx";
import { Failure } from "../../parts/failure.tsx";
import { GivenText } from "../../parts/given-text.tsx";
import { when } from "../../parts/when.ts";
import classes from "./scrubber.module.css";

export function EventThen({ lineage, row }: { readonly lineage: Lineage; readonly row: number }) {
  const id = lineage.id(row);
  const line = useEventLines([id])(id);
  const trouble = lineage.trouble(row);
  const spent = lineage.spent(row);
  return (
    <section className={classes["pane"]} data-wide="true" aria-label="The event">
      <h3>
        <span className="mono">{lineage.kind(row)}</span> {trouble !== undefined && <StatusBadge status={trouble} />}
      </h3>
      <p className={classes["line"]} aria-live="polite" data-testid="event-line">
        {line?.slice(0, 500) ?? "…"}
      </p>
      <p className="quiet small">
        step {count(lineage.step(row))} · by <span className="given">{lineage.by(row)}</span> · {when(lineage.at(row))}
        {spent !== undefined && ` · ${seconds(spent.ms)}`}
        {spent !== undefined && spent.input + spent.output > 0 && ` · ${plural(spent.input + spent.output, "token")} · ${money(spent.usd)}`}{" "}
        ·{" "}
        <Link to="/s/$session/graph" params={{ session: lineage.session }} search={(kept) => ({ ...kept, at: id })}>
          in the graph
        </Link>{" "}
        · <span className="mono">{shortEvent(id)}</span>
      </p>
      <details className={classes["body"]}>
        <summary>What it says</summary>
        <Body id={id} />
      </details>
    </section>
  );
}

function Body({ id }: { readonly id: string }) {
  const { data, error, refetch } = useEvent(id);
  if (error !== null) return <Failure error={error} retry={() => void refetch()} />;
  if (data === undefined) return <p className="quiet">Reading…</p>;
  if (data.data === undefined) return <p className="quiet">What it said was erased.</p>;
  return <GivenText key={id} text={neutralJson(data.data, 2)} mono />;
}
