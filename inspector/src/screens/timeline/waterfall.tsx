/** The waterfall: a lane for each agent, and what it did and waited for over time. */

import { useVirtualizer, type VirtualItem } from "@tanstack/react-virtual";
import { type MouseEvent, type PointerEvent, type RefObject, useEffect, useRef, useState } from "react";
import { neutral } from "../../../../src/wire/neutral.ts";
import { LaneDrawing } from "./lane-drawing.tsx";
import type { PlacedLane } from "./lane-order.ts";
import { Patterns } from "./legend.tsx";
import { laneHeight, screenX, type View, workAt } from "./paths.ts";
import { TimeAxis } from "./time-axis.tsx";
import classes from "./timeline.module.css";
import type { LookedWorks } from "./use-works.ts";
import type { Zoom } from "./use-zoom.ts";
import type { Lane, Work } from "./work.ts";
import { WorkTip } from "./work-tip.tsx";

interface Props {
  readonly looked: LookedWorks;
  readonly lanes: readonly PlacedLane[];
  readonly view: View;
  readonly zoom: Zoom;
  readonly chosen: Work | undefined;
  readonly row: number | undefined;
  readonly choose: (work: Work) => void;
  readonly measured: (width: number) => void;
}

export function Waterfall({ looked, lanes, view, zoom, chosen, row, choose, measured }: Props) {
  const scroll = useRef<HTMLElement>(null);
  const plot = useRef<HTMLDivElement>(null);
  useWidth(plot, measured);
  useWheel(plot, zoom);
  const virtual = useLanes(scroll, looked, lanes);
  useInView(chosen, view, zoom, (lane) => virtual.scrollToIndex(lanes.findIndex((one) => one.lane === lane)));
  const find = (x: number, y: number): Found | undefined => {
    const item = virtual.getVirtualItems().find(({ start, end }) => y >= start && y < end);
    const place = lanes[item?.index ?? -1];
    const works = place === undefined ? [] : worksOf(looked, place.lane);
    return item === undefined ? undefined : workAt(works, view, x, y - item.start);
  };
  const { hovered, dragged, handlers } = usePointer(plot, find, { view, zoom, choose });
  const items = virtual.getVirtualItems();
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled with the keyboard
    <section className={classes["waterfall"]} ref={scroll} aria-label="Works by agent over time; a table follows" tabIndex={0}>
      <Patterns />
      <TimeAxis view={view} />
      <div className={classes["lanes"]} style={{ height: virtual.getTotalSize() }}>
        <ul className={classes["names"]}>
          {items.map(({ index, start, size }) => (
            <LaneName key={lanes[index]?.by} lane={lanes[index] as PlacedLane} top={start} height={size} />
          ))}
        </ul>
        <div ref={plot} className={classes["plot"]} data-testid="plot" {...handlers}>
          <Drawings {...{ items, looked, lanes, view, chosen }} />
          {row !== undefined && <Cursor x={screenX(view, looked.lineage.at(row))} width={view.width} />}
          {dragged !== undefined && (
            <div
              className={classes["dragged"]}
              style={{ left: Math.min(dragged.from, dragged.to), width: Math.abs(dragged.to - dragged.from) }}
            />
          )}
          {hovered !== undefined && dragged === undefined && <WorkTip lineage={looked.lineage} {...hovered} width={view.width} />}
        </div>
      </div>
    </section>
  );
}

/** The lanes on screen, each as high as what is in it. */
function useLanes(scroll: RefObject<HTMLElement | null>, { works }: LookedWorks, lanes: readonly PlacedLane[]) {
  const laneOf = (index: number): Lane | undefined => works.lanes[lanes[index]?.lane ?? -1];
  const virtual = useVirtualizer({
    count: lanes.length,
    getScrollElement: () => scroll.current,
    estimateSize: (index) => laneHeight(laneOf(index) ?? { subs: [] }),
    overscan: 4,
  });
  const sizes = lanes.map(({ lane }) => works.lanes[lane]?.subs.length ?? 1).join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: when lanes become higher they are placed again
  useEffect(() => virtual.measure(), [virtual, sizes]);
  return virtual;
}

function worksOf({ works, open }: LookedWorks, lane: number): readonly Work[] {
  return [...(works.lanes[lane]?.works ?? []), ...(open.get(lane) ?? [])];
}

interface Found {
  readonly work: Work;
  readonly more: number;
}

interface Hovered extends Found {
  readonly x: number;
  readonly y: number;
}

const dragPixels = 5;

/** What the pointer is over, and the part of the time that it is dragged over. `find` knows what is at a place of the plot. */
function usePointer(
  plot: RefObject<HTMLDivElement | null>,
  find: (x: number, y: number) => Found | undefined,
  { view, zoom, choose }: Pick<Props, "view" | "zoom" | "choose">,
) {
  const [hovered, setHovered] = useState<Hovered>();
  const [dragged, setDragged] = useState<{ readonly from: number; readonly to: number }>();
  const at = (event: MouseEvent): { x: number; y: number } => {
    const box = (plot.current as HTMLDivElement).getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const under = (event: MouseEvent): Hovered | undefined => {
    const { x, y } = at(event);
    const found = find(x, y);
    return found === undefined ? undefined : { ...found, x, y };
  };
  const down = (event: PointerEvent): void => {
    if (event.button !== 0) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    const { x } = at(event);
    setDragged({ from: x, to: x });
  };
  const move = (event: PointerEvent): void => {
    if (dragged === undefined) setHovered(under(event));
    else setDragged({ ...dragged, to: at(event).x });
  };
  const up = (event: PointerEvent): void => {
    if (dragged === undefined) return;
    setDragged(undefined);
    const [from, to] = [Math.min(dragged.from, dragged.to), Math.max(dragged.from, dragged.to)];
    const along = (x: number): number => view.left + (x / view.width) * (view.right - view.left);
    const found = under(event);
    if (to - from >= dragPixels) zoom.show(along(from), along(to));
    else if (found !== undefined) choose(found.work);
  };
  const handlers = {
    ...{ onPointerDown: down, onPointerMove: move, onPointerUp: up },
    onPointerCancel: () => setDragged(undefined),
    onPointerLeave: () => setHovered(undefined),
  };
  return { hovered, dragged, handlers };
}

function LaneName({
  lane: { by, name, depth },
  top,
  height,
}: {
  readonly lane: PlacedLane;
  readonly top: number;
  readonly height: number;
}) {
  return (
    <li
      className={classes["name"]}
      title={neutral(by.slice(0, 500))}
      style={{ transform: `translateY(${top}px)`, height, paddingLeft: `${0.75 + Math.min(depth, 6) * 0.75}rem` }}
    >
      <span className="clip given">{name}</span>
    </li>
  );
}

interface DrawingsProps extends Pick<Props, "looked" | "lanes" | "view" | "chosen"> {
  readonly items: readonly VirtualItem[];
}

function Drawings({ items, looked: { works, open }, lanes, view, chosen }: DrawingsProps) {
  return items.map(({ index, start, size }) => {
    const { by, lane } = lanes[index] as PlacedLane;
    const drawn = works.lanes[lane]?.works ?? [];
    return (
      <LaneDrawing
        key={by}
        works={drawn}
        open={open.get(lane)}
        count={drawn.length}
        view={view}
        top={start}
        height={size}
        chosen={chosen?.lane === lane ? chosen : undefined}
      />
    );
  });
}

function Cursor({ x, width }: { readonly x: number; readonly width: number }) {
  return x < 0 || x > width ? null : <div className={classes["cursor"]} style={{ left: x }} />;
}

/** What was chosen is on screen: time and lanes go along with it, once. */
function useInView(chosen: Work | undefined, { axis, left, right }: View, zoom: Zoom, scrollTo: (lane: number) => void): void {
  const row = chosen?.row;
  // biome-ignore lint/correctness/useExhaustiveDependencies: whoever then looks elsewhere is left alone
  useEffect(() => {
    if (chosen === undefined) return;
    scrollTo(chosen.lane);
    const [from, to] = [axis.place(chosen.from), axis.place(chosen.to)];
    if (to >= left && from <= right) return;
    const half = (right - left) / 2;
    zoom.show((from + to) / 2 - half, (from + to) / 2 + half);
  }, [row]);
}

function useWidth(element: { readonly current: HTMLElement | null }, measured: (width: number) => void): void {
  useEffect(() => {
    const watched = element.current;
    if (watched === null) return;
    const observer = new ResizeObserver(([entry]) => measured(Math.max(100, Math.floor(entry?.contentRect.width ?? 0))));
    observer.observe(watched);
    return () => observer.disconnect();
  }, [element, measured]);
}

/** With Ctrl nearer and further away; sideways along. React listens in a way that cannot keep the page from zooming. */
function useWheel(element: { readonly current: HTMLElement | null }, zoom: Zoom): void {
  const latest = useRef(zoom);
  latest.current = zoom;
  useEffect(() => {
    const watched = element.current;
    if (watched === null) return;
    const turn = (event: WheelEvent): void => {
      const sideways = event.shiftKey ? event.deltaY : event.deltaX;
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        const box = watched.getBoundingClientRect();
        latest.current.by(event.deltaY < 0 ? 1.25 : 0.8, (event.clientX - box.left) / box.width);
      } else if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY)) {
        event.preventDefault();
        latest.current.move(sideways / box(watched));
      }
    };
    watched.addEventListener("wheel", turn, { passive: false });
    return () => watched.removeEventListener("wheel", turn);
  }, [element]);
}

function box(element: HTMLElement): number {
  return Math.max(1, element.clientWidth);
}
