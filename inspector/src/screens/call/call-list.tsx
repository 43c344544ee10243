/** The model calls of a branch, by step. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
import { count, money } from "../../../../src/wire/format.ts";
import { useLineage } from "../../lineage/use-lineage.tsx";
import { agentName } from "../../parts/agent-name.ts";
import { StatusBadge } from "../../parts/badge.tsx";
import { useOpenCall } from "../../session/open-calls.tsx";
import classes from "./call.module.css";
import type { ModelCall } from "./model-calls.ts";

interface Props {
  readonly calls: readonly ModelCall[];
  readonly chosen: number;
  readonly choose: (index: number) => void;
}

const rowHeight = 46;

export function CallList({ calls, chosen, choose }: Props) {
  const { lineage } = useLineage();
  const stands = useOpenCall();
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: calls.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 8,
  });
  useEffect(() => {
    if (chosen >= 0) virtual.scrollToIndex(chosen);
  }, [virtual, chosen]);
  return (
    <nav ref={scroller} className={classes["calls"]} aria-label="Model calls">
      <ol className={classes["callList"]} style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, start }) => {
          const { call, result } = calls[index] as ModelCall;
          const spent = result === undefined ? undefined : lineage.spent(result);
          const trouble = result === undefined ? undefined : lineage.trouble(result);
          return (
            <li key={call} className={classes["callRow"]} style={{ transform: `translateY(${start}px)` }}>
              <button type="button" aria-current={index === chosen ? "true" : undefined} onClick={() => choose(index)}>
                <span className={classes["callName"]}>
                  <span className="given clip">{agentName(lineage.by(call))}</span>
                  {trouble !== undefined && <StatusBadge status={trouble} />}
                </span>
                <span className="quiet small number">step {count(lineage.step(call))}</span>
                <span className="quiet small number">
                  {spent === undefined ? stands(call) : `${count(spent.input)} → ${count(spent.output)}`}
                </span>
                <span className="quiet small number">{spent !== undefined && money(spent.usd)}</span>
              </button>
            </li>
          );
        })}
      </ol>
    </nav>
  );
}
