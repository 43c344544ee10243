/** Under the waterfall, on the same axis: what had been paid until then, and who used how many tokens when. */
import { useMemo } from "react";
import { money } from "../../../../src/wire/format.ts";
import type { PlacedLane } from "./lane-order.ts";
import { screenX, type View } from "./paths.ts";
import classes from "./timeline.module.css";
import type { Works } from "./work.ts";

const height = 72;
const bucketPixels = 8;
/** Colours of lanes; more agents share a quiet one. */
const colours = 7;

interface Props {
  readonly works: Works;
  readonly lanes: readonly PlacedLane[];
  readonly view: View;
  readonly version: number;
}

export function CostStrip({ works, view, version }: Props) {
  const { axis, left, right, width } = view;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the works are the same object when they go on; the version says that they did
  const { line, area, bars } = useMemo(() => drawn(works, { axis, left, right, width }), [works, version, axis, left, right, width]);
  if (works.paid.length === 0) return null;
  return (
    <figure className={classes["strip"]}>
      <figcaption className={classes["stripNames"]}>
        <span>
          <span className={classes["costSign"]} aria-hidden="true" /> Cost so far, up to <strong>{money(works.usd)}</strong>
        </span>
        <span className="quiet">Tokens by agent</span>
      </figcaption>
      <svg
        width={width}
        height={height}
        className={classes["stripPlot"]}
        role="img"
        aria-label="Cost and tokens over time; the table says the same"
      >
        {bars.map(({ x, y, tall, colour }) => (
          <rect
            key={`${x} ${y}`}
            x={x}
            y={y}
            width={bucketPixels - 1}
            height={tall}
            style={{ fill: colour }}
            className={classes["tokens"]}
          />
        ))}
        <path d={area} className={classes["costArea"]} />
        <path d={line} className={classes["costLine"]} />
      </svg>
    </figure>
  );
}

/** The agents with the most tokens have colours of their own. */
export function laneColours(works: Works): (lane: number) => string {
  const ranked = [...works.lanes.keys()]
    .filter((one) => tokensOf(works, one) > 0)
    .sort((a, b) => tokensOf(works, b) - tokensOf(works, a) || a - b)
    .slice(0, colours);
  const rankOf = new Map(ranked.map((lane, rank) => [lane, rank]));
  return (lane) => (rankOf.has(lane) ? `var(--lane-${rankOf.get(lane)})` : "var(--line-strong)");
}

function tokensOf({ lanes }: Works, lane: number): number {
  return (lanes[lane]?.input ?? 0) + (lanes[lane]?.output ?? 0);
}

interface Bar {
  readonly x: number;
  readonly y: number;
  readonly tall: number;
  readonly colour: string;
}

function drawn(works: Works, view: View) {
  const { width } = view;
  const buckets = new Map<number, Map<string, number>>();
  const colourOf = laneColours(works);
  const top = 4;
  const yOf = (usd: number): number => height - (usd / (works.usd || 1)) * (height - top);
  let before = 0;
  let path = "";
  let lastX = Number.NEGATIVE_INFINITY;
  for (const { at, usd, tokens, lane } of works.paid) {
    const x = screenX(view, at);
    if (x < 0) before = usd;
    if (x < 0 || x > width) continue;
    if (path === "") path = `M0 ${yOf(before).toFixed(1)}`;
    // More than one in a pixel: only where it ends is seen.
    path += x - lastX < 0.7 ? `V${yOf(usd).toFixed(1)}` : `H${x.toFixed(1)}V${yOf(usd).toFixed(1)}`;
    lastX = x;
    const colour = colourOf(lane);
    const bucket = buckets.get(Math.floor(x / bucketPixels)) ?? new Map<string, number>();
    bucket.set(colour, (bucket.get(colour) ?? 0) + tokens);
    buckets.set(Math.floor(x / bucketPixels), bucket);
  }
  const line = `${path === "" ? `M0 ${yOf(before).toFixed(1)}` : path}H${width}`;
  const sums = [...buckets.values()].map((bucket) => [...bucket.values()].reduce((sum, tokens) => sum + tokens, 0));
  const mostTokens = Math.max(1, ...sums);
  const bars = [...buckets].flatMap(([place, bucket]) => stacked(place, bucket, mostTokens));
  return { line, area: `${line}V${height}H0z`, bars };
}

function stacked(place: number, bucket: ReadonlyMap<string, number>, mostTokens: number): readonly Bar[] {
  let y = height;
  return [...bucket].map(([colour, tokens]) => {
    const tall = (tokens / mostTokens) * height * 0.55;
    y -= tall;
    return { x: place * bucketPixels, y: Number(y.toFixed(2)), tall, colour };
  });
}
