/** The same as figures: what each agent did, waited for and cost. Its small bars show who had the most. */
import { useState } from "react";
import { count, money, seconds } from "../../../../src/wire/format.ts";
import { laneColours } from "./cost-strip.tsx";
import type { PlacedLane } from "./lane-order.ts";
import classes from "./timeline.module.css";
import type { LookedWorks } from "./use-works.ts";
import type { Lane } from "./work.ts";

const rowsAtFirst = 60;
const rowsMore = 60;

export function SummaryTable({ looked: { works, open }, lanes }: { readonly looked: LookedWorks; readonly lanes: readonly PlacedLane[] }) {
  const [most, setMost] = useState(rowsAtFirst);
  const all = lanes.map(({ lane }) => works.lanes[lane] as Lane);
  const greatest = (of: (lane: Lane) => number): number => all.reduce((found, lane) => Math.max(found, of(lane)), 0);
  const colourOf = laneColours(works);
  const [mostTime, mostTokens, mostUsd] = [
    greatest((lane) => lane.busy.length),
    greatest((lane) => lane.input + lane.output),
    greatest(({ usd }) => usd),
  ];
  return (
    <table className={classes["summary"]}>
      <caption className={classes["caption"]}>By agent</caption>
      <thead>
        <tr>
          <th scope="col">Agent</th>
          <th scope="col">Calls</th>
          <th scope="col">Failed</th>
          <th scope="col">Time</th>
          <th scope="col">Waiting</th>
          <th scope="col">Tokens</th>
          <th scope="col">Cost</th>
        </tr>
      </thead>
      <tbody>
        {lanes.slice(0, most).map(({ lane: place, by }) => {
          const lane = works.lanes[place] as Lane;
          const tokens = lane.input + lane.output;
          const waited = works.waitedIn(place, open.get(place));
          return (
            <tr key={by}>
              <th scope="row" className="given">
                <span className={classes["swatch"]} style={{ background: tokens === 0 ? "none" : colourOf(place) }} aria-hidden="true" />
                {by}
              </th>
              <td>{count(lane.calls)}</td>
              <td>{lane.failed === 0 ? <span className="quiet">0</span> : count(lane.failed)}</td>
              <Cell text={seconds(lane.busy.length)} part={lane.busy.length / mostTime} />
              <td>{waited < 1 ? <span className="quiet">0</span> : seconds(waited)}</td>
              <Cell text={count(tokens)} part={tokens / mostTokens} />
              <Cell text={money(lane.usd)} part={lane.usd / mostUsd} />
            </tr>
          );
        })}
      </tbody>
      {lanes.length > most && (
        <tfoot>
          <tr>
            <td colSpan={7}>
              <button type="button" onClick={() => setMost(most + rowsMore)}>
                {count(lanes.length - most)} more
              </button>
            </td>
          </tr>
        </tfoot>
      )}
    </table>
  );
}

/** A figure above a bar that says how much of the most it is. */
function Cell({ text, part }: { readonly text: string; readonly part: number }) {
  return (
    <td className={classes["measured"]}>
      {text}
      <span className={classes["part"]} style={{ width: `${Number.isFinite(part) ? part * 100 : 0}%` }} />
    </td>
  );
}
