/** What the sessions of the list cost, by when they last changed. */
import type { SessionRow } from "../../../../src/client/client.ts";
import { money } from "../../../../src/wire/format.ts";
import classes from "./pictures.module.css";
import { type Counting, costOverTime, isAllCounted, totalUsd } from "./sums.ts";

const [parts, width, height] = [28, 280, 44];

export function CostPicture({ rows, counting }: { readonly rows: readonly SessionRow[]; readonly counting: Counting }) {
  const buckets = costOverTime(rows, parts, counting);
  const most = buckets.reduce((high, { usd }) => Math.max(high, usd), 0);
  const total = totalUsd(rows, counting);
  const [first, last] = [buckets[0], buckets.at(-1)];
  return (
    <figure className={classes["picture"]}>
      <figcaption>
        <strong className="number">{money(total)}</strong>{" "}
        <span className="quiet">
          cost over time{isAllCounted(rows, counting) ? "" : ", without branches left behind where they are not read yet"}
        </span>
      </figcaption>
      <svg
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Cost over time: ${money(total)} in all, at most ${money(most)} in one part`}
      >
        {buckets.map(({ usd, from, to, sessions }, index) => (
          <rect
            key={from}
            className={classes["bar"]}
            data-empty={usd === 0}
            x={(index * width) / parts + 1}
            width={width / parts - 2}
            y={height - barHeight(usd, most)}
            height={barHeight(usd, most)}
          >
            <title>{`${moment(from, to)} to ${moment(to, from)}: ${money(usd)}, ${sessions} ${sessions === 1 ? "session" : "sessions"}`}</title>
          </rect>
        ))}
      </svg>
      {first !== undefined && last !== undefined && (
        <div className={classes["ends"]}>
          <span>{moment(first.from, last.to)}</span>
          <span>{moment(last.to, first.from)}</span>
        </div>
      )}
    </figure>
  );
}

/** Also what cost nothing has a foot, so that the time it took is seen. */
function barHeight(usd: number, most: number): number {
  return usd === 0 || most === 0 ? 1.5 : Math.max(3, (usd / most) * height);
}

const dayMs = 86_400_000;

/** The clock where all is of one day, else the day. */
function moment(at: number, other: number): string {
  const text = new Date(at).toISOString();
  return Math.abs(at - other) < dayMs ? text.slice(11, Math.abs(at - other) < 600_000 ? 19 : 16) : text.slice(0, 10);
}
