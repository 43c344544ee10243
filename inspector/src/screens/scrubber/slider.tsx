/** The slider over the events of a branch, with marks where something went wrong or was written, and the steps to them. */

import { useMemo } from "react";
import { count } from "../../../../src/wire/format.ts";
import { neutral } from "../../../../src/wire/neutral.ts";
import type { Lineage } from "../../lineage/lineage.ts";
import { Icon } from "../../parts/icon.tsx";
import { shortId } from "../../parts/short-id.ts";
import { hasMoment, type Moment, momentMarks, momentsOn } from "./moments.ts";
import classes from "./scrubber.module.css";

interface Props {
  readonly lineage: Lineage;
  readonly rows: readonly number[];
  readonly at: number;
  readonly branch: string;
  readonly slide: (to: number) => void;
  readonly step: (moment: Moment, by: 1 | -1) => void;
  readonly isNewest: boolean;
  readonly newest: () => void;
}

const steps = [
  ["turn", -1, "Turn before", "{"],
  ["event", -1, "Event before", "["],
  ["event", 1, "Next event", "]"],
  ["turn", 1, "Next turn", "}"],
  ["error", 1, "Next that went wrong", "x"],
  ["write", 1, "Next write", "n"],
] as const;

export function Slider({ lineage, rows, at, branch, slide, step, isNewest, newest }: Props) {
  const row = rows[at] ?? 0;
  return (
    <section className={classes["slider"]} aria-label="Moments of the branch">
      <h2 className="unseen">Scrubber</h2>
      <div className={classes["steps"]}>
        {steps.map(([moment, by, name, key]) => {
          const isThere = hasMoment(lineage, branch, { from: at, moment, by, count: rows.length });
          const title = isThere ? `${name} (${key})` : `${name}: there is none ${by === 1 ? "after" : "before"} this step`;
          return (
            <button key={name} type="button" title={title} disabled={!isThere} onClick={() => step(moment, by)}>
              {moment === "event" || moment === "turn" ? <StepSign moment={moment} by={by} /> : null}
              <span className={moment === "event" || moment === "turn" ? "unseen" : undefined}>{name}</span>
            </button>
          );
        })}
        <button type="button" disabled={isNewest} onClick={newest}>
          Newest
        </button>
        <p className={classes["position"]}>
          step <strong>{count(lineage.step(row))}</strong> · event {count(at + 1)} of {count(rows.length)} · branch{" "}
          <code>{shortId(branch)}</code>
        </p>
      </div>
      <input
        type="range"
        aria-label="Event of the branch"
        aria-valuetext={`event ${at + 1} of ${rows.length}, step ${count(lineage.step(row))}, ${lineage.kind(row)} by ${neutral(lineage.by(row))}`}
        min={0}
        max={Math.max(0, rows.length - 1)}
        value={at}
        onChange={(event) => slide(Number(event.target.value))}
      />
      <Marks lineage={lineage} rows={rows} branch={branch} />
    </section>
  );
}

const drawnWidth = 2000;

function Marks({ lineage, rows, branch }: Pick<Props, "lineage" | "rows" | "branch">) {
  const marks = useMemo(() => {
    const places = momentsOn(lineage, branch);
    const draw = (moment: keyof typeof places, top: number, height: number): string =>
      momentMarks(places[moment], rows.length, { width: drawnWidth, top, height });
    return { turn: draw("turn", 0, 4), write: draw("write", 5, 5), error: draw("error", 11, 5) };
  }, [lineage, rows, branch]);
  return (
    <div className={classes["marks"]}>
      <svg viewBox={`0 0 ${drawnWidth} 16`} preserveAspectRatio="none" aria-hidden="true">
        {(["turn", "write", "error"] as const).map((moment) => (
          <path key={moment} d={marks[moment]} className={classes["mark"]} data-moment={moment} />
        ))}
      </svg>
      <ul className={classes["key"]}>
        <li data-moment="turn">turns</li>
        <li data-moment="write">writes</li>
        <li data-moment="error">went wrong</li>
      </ul>
    </div>
  );
}

function StepSign({ moment, by }: { readonly moment: "event" | "turn"; readonly by: 1 | -1 }) {
  return (
    <span className={classes["sign"]} data-by={by}>
      <Icon name="open" />
      {moment === "turn" && <Icon name="open" />}
    </span>
  );
}
