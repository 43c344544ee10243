/** What is remembered, a row each. */
import { Link } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
import { ago, plural } from "../../../../src/wire/format.ts";
import { neutral } from "../../../../src/wire/neutral.ts";
import { Badge } from "../../parts/badge.tsx";
import classes from "./memory-list.module.css";
import type { Memories } from "./use-memories.ts";
import type { SessionMemory } from "./use-session-memory.ts";

const rowHeight = 64;
const longest = 240;

interface Props {
  readonly items: Memories["items"];
  readonly chosen: string | undefined;
  readonly touched: SessionMemory["touched"] | undefined;
  readonly cut: boolean;
}

export function MemoryList({ items, chosen, touched, cut }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 6,
    useFlushSync: false,
  });
  const at = items.findIndex(({ uri }) => uri === chosen);
  useEffect(() => {
    if (at >= 0) virtual.scrollToIndex(at, { align: "auto" });
  }, [at, virtual]);
  return (
    <>
      <p className={classes["count"]} role="status">
        {plural(items.length, "memory")}
        {cut && ", and more: search to find them"}
      </p>
      <div className={classes["scroller"]} ref={scroller}>
        <ul className={classes["canvas"]} style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, key, start }) => {
            const item = items[index];
            if (item === undefined) return null;
            return (
              <li key={key} className={classes["place"]} style={{ transform: `translateY(${start}px)` }}>
                <MemoryRow item={item} chosen={item.uri === chosen} touched={touched?.get(item.uri)} />
              </li>
            );
          })}
        </ul>
      </div>
    </>
  );
}

interface RowProps {
  readonly item: Memories["items"][number];
  readonly chosen: boolean;
  readonly touched: { readonly read: boolean; readonly wrote: boolean } | undefined;
}

function MemoryRow({ item, chosen, touched }: RowProps) {
  const { uri, key, content, scope, state, trust, at, version, reason } = item;
  return (
    <Link
      to="/memory"
      search={(kept) => ({ ...kept, item: uri })}
      className={classes["row"]}
      data-chosen={chosen}
      aria-current={chosen}
      data-state={state}
    >
      <span className={classes["first"]}>
        <strong className="given clip">{neutral(key.slice(0, 100))}</strong>
        {state === "retracted" && <Badge tone="bad">retracted</Badge>}
        {trust === "untrusted" && <Badge tone="warn">untrusted</Badge>}
        {scope !== "project" && <Badge>{scope}</Badge>}
        {touched?.read === true && <Badge tone="accent">read</Badge>}
        {touched?.wrote === true && <Badge tone="accent">written</Badge>}
        <span className={classes["when"]}>
          v{version} · {ago(at, new Date())}
        </span>
      </span>
      <span className={classes["text"]}>{neutral((content === "" ? (reason ?? "") : content).slice(0, longest))}</span>
    </Link>
  );
}
