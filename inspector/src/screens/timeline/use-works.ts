/** The works of the lineage on screen, and the axis they are drawn on. */
import { useMemo } from "react";
import type { Lineage } from "../../lineage/lineage.ts";
import { useLineage } from "../../lineage/use-lineage.tsx";
import { useOpenCalls } from "../../session/open-calls.tsx";
import { Axis } from "./axis.ts";
import { type Work, Works } from "./work.ts";

const computed = new WeakMap<Lineage, Works>();

export interface LookedWorks {
  readonly lineage: Lineage;
  readonly version: number;
  readonly works: Works;
  readonly axis: Axis;
  /** By lane: what has no result yet. */
  readonly open: ReadonlyMap<number, readonly Work[]>;
}

export function useWorks(): LookedWorks {
  const { lineage, version } = useLineage();
  const { waits } = useOpenCalls();
  return useMemo(() => {
    const works = computed.get(lineage) ?? new Works();
    computed.set(lineage, works);
    works.read(lineage);
    const people = new Set([...(waits?.kinds ?? [])].flatMap(([call, kind]) => (kind === "timer" || kind === "signal" ? [] : [call])));
    const open = new Map<number, Work[]>();
    for (const work of works.open(lineage, waits?.until ?? works.active.list.at(-1)?.to ?? 0, people)) {
      const list = open.get(work.lane) ?? [];
      list.push(work);
      open.set(work.lane, list);
    }
    const spans = [...works.active.list];
    const isWaiting = [...open.values()].flat().some(({ kind, to }) => kind === "person" && to > (spans.at(-1)?.to ?? 0));
    // Whoever waits now is waited for until now.
    if (isWaiting && waits !== undefined) spans.push({ from: waits.until, to: waits.until });
    return { lineage, version, works, axis: new Axis(spans), open };
  }, [lineage, version, waits]);
}
