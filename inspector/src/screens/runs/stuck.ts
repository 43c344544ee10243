/** Runs that do not get on by themselves, and why. */
import type { PendingResource, RunResource } from "../../../../src/client/client.ts";

/** So long nobody need worry: workers take over what others left, and look for what is queued, within seconds. */
const patienceMs = 60_000;

export interface StuckFacts {
  readonly run: RunResource;
  /** What it waits for, where that is known. */
  readonly pending?: readonly Pick<PendingResource, "kind">[] | undefined;
  /** When it was started or taken up last, where that is known. */
  readonly since?: string | undefined;
}

export function stuckWhy({ run, pending = [], since }: StuckFacts, now: Date): string | undefined {
  const { status, owner } = run;
  const ms = since === undefined ? undefined : now.getTime() - Date.parse(since);
  if (status === "running" && owner === undefined) return "It runs by its record, and no worker holds it: resume it, or start a worker.";
  if (status === "waiting" && pending.some(({ kind }) => kind === "unknown"))
    return "An effect was started and has no result: somebody has to say what became of it.";
  if (status === "queued" && ms !== undefined && ms > patienceMs)
    return "No worker has taken it for over a minute: is one running that knows its workflow?";
  return undefined;
}

/** When a run was made, from its id, where that tells: one started with a key does not. */
export function madeAt(id: string): string | undefined {
  const hex = id.replaceAll("-", "");
  if (hex.length !== 32 || hex[12] !== "7") return undefined;
  const ms = Number.parseInt(hex.slice(0, 12), 16);
  return Number.isFinite(ms) && ms < 8.64e15 ? new Date(ms).toISOString() : undefined;
}
