/** Calls of the work on screen that have no result: whether somebody is at them. */
import { useMemo } from "react";
import { standingOf } from "../../../src/wire/standing.ts";
import { useAgain } from "../desk/use-seldom.ts";
import { useStanding } from "../desk/use-standing.ts";
import { useLineage } from "../lineage/use-lineage.tsx";
import { Badge } from "../parts/badge.tsx";
import { type OpenCall, openCall, openTones } from "./open-call.ts";
import { useWaits } from "./use-waits.ts";

/** Whether somebody executes the session or one of its branches; where nobody can be asked it may be so. */
export function useAtWork(): boolean {
  const { lineage, version } = useLineage();
  const { open, isKnown, reread } = useStanding();
  useAgain(version, reread, 500);
  if (!isKnown) return true;
  return [...open].some(([session, runs]) => standingOf(undefined, runs) === "running" && lineage.hasBranch(session));
}

export function useOpenCall(): (row: number) => OpenCall {
  const { lineage } = useLineage();
  const isAtWork = useAtWork();
  const waits = useWaits();
  const ids = useMemo(() => new Set(waits?.items.map(({ id }) => id)), [waits]);
  return (row) => openCall(ids.has(lineage.id(row)), isAtWork);
}

/** In the place of an outcome. */
export function OpenCallBadge({ row }: { readonly row: number }) {
  return <OpenBadge stands={useOpenCall()(row)} />;
}

export function OpenBadge({ stands }: { readonly stands: OpenCall }) {
  return <Badge tone={openTones[stands]}>{stands}</Badge>;
}
