/** The works of one lane: one path for each kind, however many they are. */
import { memo, useMemo } from "react";
import { lanePadding, pathsOf, screenX, subHeight, type View } from "./paths.ts";
import classes from "./timeline.module.css";
import type { Work } from "./work.ts";

interface Props {
  readonly works: readonly Work[];
  /** The works are the same list when they go on. */
  readonly count: number;
  readonly open: readonly Work[] | undefined;
  readonly view: View;
  readonly top: number;
  readonly height: number;
  readonly chosen: Work | undefined;
}

export const LaneDrawing = memo(function LaneDrawing({ works, count, open, view, top, height, chosen }: Props) {
  const { axis, left, right, width } = view;
  // biome-ignore lint/correctness/useExhaustiveDependencies: see count
  const paths = useMemo(() => pathsOf(works, { axis, left, right, width }), [works, count, axis, left, right, width]);
  const opened = useMemo(() => pathsOf(open ?? [], { axis, left, right, width }), [open, axis, left, right, width]);
  return (
    <svg className={classes["lane"]} width={width} height={height} style={{ transform: `translateY(${top}px)` }} aria-hidden="true">
      {[...paths].map(([kind, path]) => (
        <path key={kind} className={classes["work"]} data-kind={kind} d={path} />
      ))}
      {[...opened].map(([kind, path]) => (
        <path key={`open ${kind}`} className={classes["work"]} data-kind={kind} data-open d={path} />
      ))}
      {chosen !== undefined && <Chosen work={chosen} view={view} />}
    </svg>
  );
}, isSame);

/** Views are made again for every drawing. */
function isSame(before: Props, after: Props): boolean {
  const [a, b] = [before.view, after.view];
  return (
    a.axis === b.axis &&
    a.left === b.left &&
    a.right === b.right &&
    a.width === b.width &&
    before.works === after.works &&
    before.count === after.count &&
    before.open === after.open &&
    before.top === after.top &&
    before.height === after.height &&
    before.chosen === after.chosen
  );
}

function Chosen({ work, view }: { readonly work: Work; readonly view: View }) {
  const x = Math.max(-5, screenX(view, work.from));
  const end = Math.min(view.width + 5, screenX(view, work.to));
  if (end < 0 || x > view.width) return null;
  return (
    <rect
      className={classes["chosen"]}
      x={x - 2}
      y={lanePadding + work.sub * subHeight}
      width={Math.max(2, end - x) + 4}
      height={subHeight}
      rx="2"
    />
  );
}
