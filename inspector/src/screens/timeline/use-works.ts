/** The works of the lineage on screen, and the axis they are drawn on. */
import { useMemo } from "react";
import type { Lineage } from "../../lineage/lineage.ts";
import { useLineage } from "../../lineage/use-lineage.tsx";
import { useWaits } from "../../session/use-waits.ts";
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
  const data = useWaits();
  return useMemo(() => {
    const works = computed.get(lineage) ?? new Works();
    computed.set(lineage, works);
    works.read(lineage);
    const people = new Set(data?.items.filter(({ kind }) => kind !== "timer" && kind !== "signal").map(({ id }) => id));
    const open = new Map<number, Work[]>();
    for (const work of works.open(lineage, data?.until ?? works.active.list.at(-1)?.to ?? 0, people)) {
      const list = open.get(work.lane) ?? [];
      list.push(work);
      open.set(work.lane, list);
    }
    const spans = [...works.active.list];
    const waits = [...open.values()].flat().some(({ kind, to }) => kind === "person" && to > (spans.at(-1)?.to ?? 0));
    // Whoever waits now is waited for until now.
    if (waits && data !== undefined) spans.push({ from: data.until, to: data.until });
    return { lineage, version, works, axis: new Axis(spans), open };
  }, [lineage, version, data]);
}
