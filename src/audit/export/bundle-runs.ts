/**
 * Which runs a bundle adds to. The `run` and `order` of an event are no part of its id, so that whoever writes a bundle can ascribe its
 * events to any run: to one that is here, or to one that somebody will start under a key.
 */
import { rowOf } from "../../runtime/load.ts";
import { rowOfRun } from "../../runtime/run-row.ts";
import { envelopeOf } from "../../session/codec.ts";
import { importRunId } from "../../session/id.ts";
import type { Platform } from "../../session/platform.ts";
import type { BranchWrite, Store, StoredEvent } from "../../store/store.ts";
import type { Gathered } from "../gather.ts";
import { type BundleSource, invalid } from "./bundle-read.ts";

/** A run of a workflow has a log of its own, and a bundle brings it with what the run wrote. Refuses events that say otherwise. */
export async function refuseAscribed(
  platform: Platform,
  store: Store,
  { bundle, gathered, branches }: { readonly bundle: BundleSource; readonly gathered: Gathered; readonly branches: readonly BranchWrite[] },
): Promise<void> {
  for (const [run, event] of firstOfRuns(branches)) {
    if (gathered.runs.get(run)?.log?.entries[0]?.kind === "run.started") continue;
    const problem = (await isRunHere(platform, store, run))
      ? "a run that is in this store"
      : isKeyed(platform, run, event)
        ? "a run with a key"
        : undefined;
    if (problem !== undefined)
      throw invalid(
        bundle.lineOf(event.id),
        "run",
        `event ${event.id} is ascribed to ${run}, ${problem}, but the bundle has no log of that run`,
      );
  }
}

/**
 * The runs a bundle adds to that the store knows, or that others find by their key. All that lies in the own log of a run says that the run
 * wrote it, which was checked.
 */
export async function runsAddedTo(platform: Platform, store: Store, branches: readonly BranchWrite[]): Promise<readonly string[]> {
  const found: string[] = [];
  for (const [run, event] of firstOfRuns(branches))
    if (isKeyed(platform, run, event) || (await rowOfRun(store, run)) !== undefined || (await rowOf(store, run)) !== undefined)
      found.push(run);
  return found;
}

/** The first new event of each run. */
function firstOfRuns(branches: readonly BranchWrite[]): ReadonlyMap<string, StoredEvent> {
  const first = new Map<string, StoredEvent>();
  for (const { events } of branches)
    for (const event of events) if (event.run !== undefined && !first.has(event.run)) first.set(event.run, event);
  return first;
}

async function isRunHere(platform: Platform, store: Store, run: string): Promise<boolean> {
  if ((await rowOfRun(store, run)) !== undefined) return true;
  for await (const event of store.events({ session: run, to: 1 })) return envelopeOf(platform, event).kind === "run.started";
  return false;
}

/** Only the ids of runs with a key are derived, and those of what was imported from OpenRath 1, which are derived from the session it is in. */
function isKeyed(platform: Platform, run: string, { session }: StoredEvent): boolean {
  return run.charAt(14) === "8" && run !== importRunId(platform, session);
}
