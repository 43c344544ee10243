// biome-ignore-all lint/a11y/useSemanticElements: a table of the browser cannot leave rows out
// biome-ignore-all lint/a11y/useFocusableInteractive: rows are focused, not what is in them
// biome-ignore-all lint/a11y/useKeyWithClickEvents: the screen around it has the keys
/**
 * A long table of which only what is on screen is in the page. Rows come in at the end as somebody scrolls there, and at the top
 * without moving what is looked at.
 */
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useEffect, useLayoutEffect, useRef } from "react";
import { Icon } from "../parts/icon.tsx";
import { useNarrow } from "../parts/use-narrow.ts";
import classes from "./virtual-table.module.css";

export interface Column<Row> {
  readonly name: string;
  /** Of the grid: "8rem" or "minmax(10rem, 2fr)". */
  readonly width: string;
  /** Where there is little room. */
  readonly narrow?: string;
  readonly numeric?: boolean;
  /** Left out where there is little room. */
  readonly wide?: boolean;
  /** Rows can be ordered by it, the largest first; whether they are, and what a click on its name does. */
  readonly order?: { readonly on: boolean; readonly toggle: () => void };
  readonly cell: (row: Row) => ReactNode;
}

interface Props<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly idOf: (row: Row) => string;
  readonly chosen: string | undefined;
  readonly choose: (id: string) => void;
  /** What a click on a row does beside choosing it. */
  readonly open?: (row: Row) => void;
  readonly toneOf?: (row: Row) => "bad" | undefined;
  /** Asked for when the end is near. */
  readonly more?: (() => void) | undefined;
  /** Told which rows are on screen, once the table stands still. */
  readonly seen?: (rows: readonly Row[]) => void;
  /** Under the last row. */
  readonly foot?: ReactNode;
}

const rowHeight = 34;
const ahead = 20;

export function VirtualTable<Row>({ label, columns: all, rows, idOf, chosen, choose, open, toneOf, more, seen, foot }: Props<Row>) {
  const frame = useRef<HTMLDivElement>(null);
  const isNarrow = useNarrow();
  const columns = isNarrow ? all.filter(({ wide }) => wide !== true) : all;
  const virtual = useVirtualizer({ count: rows.length, getScrollElement: () => frame.current, estimateSize: () => rowHeight, overscan: 8 });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useKept(frame, rows, idOf);
  useEffect(() => {
    if (last >= rows.length - ahead) more?.();
  }, [last, rows.length, more]);
  const [from, to] = [items[0]?.index ?? 0, last];
  useEffect(() => {
    if (seen === undefined || virtual.isScrolling) return;
    seen(rows.slice(from, to + 1));
  }, [seen, rows, from, to, virtual.isScrolling]);
  // Whoever goes on by keys sees the row they come to, and goes on from there.
  // biome-ignore lint/correctness/useExhaustiveDependencies: rows that come and go move nobody, only another choice does
  useEffect(() => {
    const index = chosen === undefined ? -1 : rows.findIndex((row) => idOf(row) === chosen);
    if (index < 0) return;
    virtual.scrollToIndex(index);
    const inside = frame.current?.contains(document.activeElement) === true;
    if (inside || document.activeElement === document.body) {
      requestAnimationFrame(() => frame.current?.querySelector<HTMLElement>('[data-chosen="true"]')?.focus({ preventScroll: true }));
    }
  }, [chosen]);
  const tracks = { gridTemplateColumns: columns.map(({ width, narrow = width }) => (isNarrow ? narrow : width)).join(" ") };
  return (
    <div className={classes["table"]} role="grid" aria-label={label} aria-rowcount={rows.length + 1} ref={frame}>
      <div className={classes["head"]} role="row" aria-rowindex={1} style={tracks}>
        {columns.map(({ name, numeric, order }) => (
          <div
            key={name}
            role="columnheader"
            className={numeric === true ? "number" : undefined}
            aria-sort={order === undefined ? undefined : order.on ? "descending" : "none"}
          >
            {order === undefined ? (
              name
            ) : (
              <button type="button" data-look="plain" className={classes["order"]} data-on={order.on} onClick={order.toggle}>
                {name} {order.on && <Icon name="shut" />}
              </button>
            )}
          </div>
        ))}
      </div>
      <div className={classes["body"]} role="rowgroup" style={{ height: virtual.getTotalSize() }}>
        {items.map(({ index, start }) => {
          const row = rows[index] as Row;
          const id = idOf(row);
          return (
            <div
              key={id}
              role="row"
              aria-rowindex={index + 2}
              aria-selected={id === chosen}
              data-chosen={id === chosen}
              data-tone={toneOf?.(row)}
              tabIndex={id === chosen || (chosen === undefined && index === 0) ? 0 : -1}
              className={classes["row"]}
              style={{ ...tracks, transform: `translateY(${start}px)` }}
              onFocus={() => choose(id)}
              onClick={(event) => {
                choose(id);
                if ((event.target as Element).closest("a, button") === null) open?.(row);
              }}
            >
              {columns.map(({ name, numeric, cell }) => (
                <div key={name} role="gridcell" className={numeric === true ? "number" : classes["cell"]}>
                  {cell(row)}
                </div>
              ))}
            </div>
          );
        })}
      </div>
      {foot !== undefined && <div className={classes["foot"]}>{foot}</div>}
    </div>
  );
}

/** Rows that come in above what is looked at push it out of sight: the scroll goes with it. */
function useKept<Row>(frame: React.RefObject<HTMLDivElement | null>, rows: readonly Row[], idOf: (row: Row) => string): void {
  const first = useRef<string | undefined>(undefined);
  const known = useRef<ReadonlySet<string>>(new Set());
  useLayoutEffect(() => {
    const before = first.current;
    const added = rows.findIndex((row) => known.current.has(idOf(row)));
    known.current = new Set(rows.map(idOf));
    const element = frame.current;
    first.current = rows[0] === undefined ? undefined : idOf(rows[0]);
    if (before === undefined || before === first.current || element === null || element.scrollTop === 0) return;
    // In another order nothing was added.
    if (added > 0 && rows[added] !== undefined && idOf(rows[added]) === before) element.scrollTop += added * rowHeight;
  }, [frame, rows, idOf]);
}

/** The row so many after the chosen one; the first where none is. */
export function stepped(ids: readonly string[], chosen: string | undefined, by: number): string | undefined {
  const index = chosen === undefined ? -1 : ids.indexOf(chosen);
  return index < 0 ? ids[0] : ids[Math.min(ids.length - 1, Math.max(0, index + by))];
}
