/** Calls of the work on screen that have no result: whether somebody is at them, asked once for all that is shown of it. */
import { createContext, type ReactNode, useContext, useMemo } from "react";
import { standingOf } from "../../../src/wire/standing.ts";
import { useAgain } from "../desk/use-seldom.ts";
import { useStanding } from "../desk/use-standing.ts";
import { useLineage } from "../lineage/use-lineage.tsx";
import { Badge } from "../parts/badge.tsx";
import { type OpenCall, openCall, openTones } from "./open-call.ts";
import { useAskedWaits, type Waits } from "./use-waits.ts";

interface OpenCalls {
  /** Whether somebody executes the session or one of its branches; where nobody can be asked it may be so. */
  readonly isAtWork: boolean;
  readonly waits: Waits | undefined;
}

const context = createContext<OpenCalls>({ isAtWork: true, waits: undefined });

export function OpenCallsProvider({ children }: { readonly children: ReactNode }) {
  const isAtWork = useAskedWork();
  const waits = useAskedWaits();
  return <context.Provider value={useMemo(() => ({ isAtWork, waits }), [isAtWork, waits])}>{children}</context.Provider>;
}

function useAskedWork(): boolean {
  const { lineage, version } = useLineage();
  const { open, isKnown, hasAllRunning, reread } = useStanding();
  useAgain(version, reread, 500);
  const found = [...open].some(([session, runs]) => standingOf(undefined, runs) === "running" && lineage.hasBranch(session));
  return found || !isKnown || !hasAllRunning;
}

export function useOpenCalls(): OpenCalls {
  return useContext(context);
}

export function useOpenCall(): (row: number) => OpenCall {
  const { isAtWork, waits } = useOpenCalls();
  return (row) => openCall(waits?.kinds.has(row) === true, isAtWork);
}

/** In the place of an outcome. */
export function OpenCallBadge({ row }: { readonly row: number }) {
  return <OpenBadge stands={useOpenCall()(row)} />;
}

export function OpenBadge({ stands }: { readonly stands: OpenCall }) {
  return <Badge tone={openTones[stands]}>{stands}</Badge>;
}
