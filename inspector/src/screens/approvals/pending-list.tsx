/** What waits for a person, the oldest first. Only what is on screen is in the page. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
import { Ago, Within } from "../../desk/time-text.tsx";
import { Badge } from "../../parts/badge.tsx";
import classes from "./approvals.module.css";
import type { ForPeople } from "./waiting.ts";
import { kindWords, subjectOf } from "./words.ts";

interface Props {
  readonly items: readonly ForPeople[];
  readonly chosen: string | undefined;
  readonly choose: (id: string) => void;
}

const height = 66;

export function PendingList({ items, chosen, choose }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    ...{ count: items.length, getScrollElement: () => frame.current, estimateSize: () => height, overscan: 6 },
    getItemKey: (index) => items[index]?.id ?? index,
  });
  const index = items.findIndex(({ id }) => id === chosen);
  // Whoever decides or goes on by keys sees where they are.
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another choice moves anybody
  useEffect(() => {
    if (index < 0) return;
    virtual.scrollToIndex(index);
    const { activeElement } = document;
    if (activeElement !== document.body && frame.current?.contains(activeElement) !== true) return;
    requestAnimationFrame(() => frame.current?.querySelector<HTMLElement>('[aria-current="true"]')?.focus({ preventScroll: true }));
  }, [chosen]);
  return (
    <div className={classes["list"]} ref={frame}>
      <ul style={{ height: virtual.getTotalSize() }} aria-label="Waits for a decision">
        {virtual.getVirtualItems().map(({ index: at, start }) => {
          const pending = items[at] as ForPeople;
          const { id, kind, by, since } = pending;
          return (
            <li key={id} style={{ transform: `translateY(${start}px)` }}>
              <button type="button" aria-current={id === chosen} onClick={() => choose(id)}>
                <span className={classes["line"]}>
                  <Badge tone={kind === "unknown" ? "bad" : kind === "approval" ? "warn" : "accent"}>{kindWords[kind]}</Badge>
                  <strong className="given clip" dir="auto">
                    {subjectOf(pending).slice(0, 200)}
                  </strong>
                </span>
                <span className={classes["line"]}>
                  <span className="quiet small given clip">{by.slice(0, 100)}</span>
                  <span className="quiet small number">
                    <Ago at={since} />
                    {kind !== "unknown" && pending.expires !== undefined && (
                      <>
                        {" · expires "}
                        <Within at={pending.expires} />
                      </>
                    )}
                  </span>
                </span>
              </button>
            </li>
          );
        })}
      </ul>
    </div>
  );
}
