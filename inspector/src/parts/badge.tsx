/** A short word with a tone. The word says it; the colour helps. */
import type { ReactNode } from "react";
import classes from "./badge.module.css";

export type Tone = "quiet" | "ok" | "warn" | "bad" | "accent";

const tones: Readonly<Record<string, Tone>> = {
  idle: "quiet",
  done: "ok",
  ok: "ok",
  running: "accent",
  queued: "quiet",
  waiting: "warn",
  unknown: "warn",
  expired: "warn",
  failed: "bad",
  error: "bad",
  denied: "bad",
  rejected: "bad",
  cancelled: "quiet",
};

export function Badge({ tone, children }: { readonly tone?: Tone; readonly children: ReactNode }) {
  return (
    <span className={classes["badge"]} data-tone={tone ?? "quiet"}>
      {children}
    </span>
  );
}

/** How a session, a run or an effect stands. */
export function StatusBadge({ status }: { readonly status: string }) {
  return <Badge tone={tones[status] ?? "quiet"}>{status}</Badge>;
}
