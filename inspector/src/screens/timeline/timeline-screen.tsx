/** Where did time and money go? */
import { useNavigate } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { count, money, seconds } from "../../../../src/wire/format.ts";
import { branchWith } from "../../lineage/branch-rows.ts";
import { Empty } from "../../parts/empty.tsx";
import { usePlace } from "../../session/use-place.ts";
import { useKeys } from "../../shell/keys.ts";
import { ChosenWork } from "./chosen-work.tsx";
import { CostStrip } from "./cost-strip.tsx";
import { laneOrder } from "./lane-order.ts";
import { kindWords, Legend } from "./legend.tsx";
import type { View } from "./paths.ts";
import { SummaryTable } from "./summary-table.tsx";
import classes from "./timeline.module.css";
import { type LookedWorks, useWorks } from "./use-works.ts";
import { useZoom, type Zoom } from "./use-zoom.ts";
import { Waterfall } from "./waterfall.tsx";
import type { Lane, Work } from "./work.ts";

export function TimelineScreen() {
  const looked = useWorks();
  const { works, axis, lineage, version } = looked;
  const zoom = useZoom(axis);
  const [width, setWidth] = useState(800);
  const view: View = { axis, left: zoom.left, right: zoom.right, width };
  // biome-ignore lint/correctness/useExhaustiveDependencies: the works are the same object when they go on; the version says that they did
  const lanes = useMemo(() => laneOrder(works.lanes).filter(({ lane }) => hasWork(looked, lane)), [looked, version]);
  const { chosen: row } = usePlace();
  const chosen = works.of(row) ?? [...looked.open.values()].flat().find((work) => work.row === row);
  const choose = useChoose(looked);
  useTimelineKeys(looked, zoom, row, choose);
  if (lanes.length === 0)
    return (
      <Empty title="Nothing has taken any time yet">
        <p>
          Calls of models and tools, questions and waits appear here when the session is run: say something to it, or run a workflow on it.
        </p>
      </Empty>
    );
  return (
    <div className={classes["screen"]}>
      <header className={classes["bar"]}>
        <h2 className="unseen">Timeline</h2>
        <Figures looked={looked} />
        <Legend />
        <ZoomButtons zoom={zoom} />
      </header>
      <Waterfall looked={looked} lanes={lanes} view={view} zoom={zoom} chosen={chosen} row={row} choose={choose} measured={setWidth} />
      <CostStrip works={works} lanes={lanes} view={view} version={version} />
      {row !== undefined && <ChosenWork lineage={lineage} row={row} work={chosen} />}
      <SummaryTable looked={looked} lanes={lanes} />
    </div>
  );
}

function hasWork({ works, open }: LookedWorks, lane: number): boolean {
  const { works: done, usd, input, output } = works.lanes[lane] as Lane;
  return done.length > 0 || usd + input + output > 0 || open.has(lane);
}

function useChoose({ lineage }: LookedWorks): (work: Work) => void {
  const navigate = useNavigate();
  return ({ row }) =>
    void navigate({
      to: ".",
      search: (kept: { readonly branch?: string | undefined }) => ({
        ...kept,
        at: lineage.id(row),
        branch: branchWith(lineage, kept.branch, row),
      }),
    });
}

function useTimelineKeys({ works }: LookedWorks, zoom: Zoom, row: number | undefined, choose: (work: Work) => void): void {
  const step = (by: 1 | -1): void => {
    const order = works.inOrder();
    const now = works.of(row);
    const place = now === undefined ? (by === 1 ? -1 : order.length) : order.indexOf(now);
    const next = order[place + by];
    if (next !== undefined) choose(next);
  };
  useKeys([
    { keys: "j", does: "next piece of work", act: () => step(1) },
    { keys: "k", does: "piece of work before", act: () => step(-1) },
    { keys: "+", does: "nearer", act: () => zoom.by(2) },
    { keys: "-", does: "further away", act: () => zoom.by(0.5) },
    { keys: "0", does: "all of the time", act: () => zoom.fit() },
    { keys: "ArrowLeft", does: "earlier", act: () => zoom.move(-0.25) },
    { keys: "ArrowRight", does: "later", act: () => zoom.move(0.25) },
  ]);
}

function Figures({ looked: { works, axis, open } }: { readonly looked: LookedWorks }) {
  const all = axis.to - axis.from;
  const tokens = works.lanes.reduce((sum, { input, output }) => sum + input + output, 0);
  const figures = [
    [seconds(all), "from first to last"],
    [seconds(works.working.length), "working"],
    [seconds(works.waitedForPeople([...open.values()].flat())), kindWords.person],
    [count(tokens), "tokens"],
    [money(works.usd), "all branches"],
  ] as const;
  return (
    <dl className={classes["figures"]}>
      {figures.map(([figure, word]) => (
        <div key={word}>
          <dt>{word}</dt>
          <dd>{figure}</dd>
        </div>
      ))}
    </dl>
  );
}

function ZoomButtons({ zoom }: { readonly zoom: Zoom }) {
  return (
    <fieldset className={classes["zoom"]}>
      <legend className="unseen">What of the time is shown</legend>
      <button type="button" aria-label="Further away" title="Further away (-)" disabled={zoom.isFit} onClick={() => zoom.by(0.5)}>
        −
      </button>
      <button type="button" aria-label="Nearer" title="Nearer (+), or drag over what to see" onClick={() => zoom.by(2)}>
        +
      </button>
      <button type="button" title="All of the time (0)" disabled={zoom.isFit} onClick={zoom.fit}>
        Fit
      </button>
    </fieldset>
  );
}
