/** The runs that have not ended, by the session they work on. */
import type { RunRow, Store } from "../store/store.ts";
import { isDeadHere } from "./worker-id.ts";

/** Of all sessions, or of these. */
export async function openRuns(store: Store, sessions?: readonly string[]): Promise<ReadonlyMap<string, readonly RunRow[]>> {
  const found = new Map<string, RunRow[]>();
  // One status after the other: so they come by the index.
  for (const status of ["running", "waiting", "queued"])
    for await (const row of store.runs({ status, session: sessions })) {
      const runs = found.get(row.session) ?? [];
      runs.push(heldNow(row));
      found.set(row.session, runs);
    }
  return found;
}

/** Nobody holds a run whose worker was a process of this machine that is gone, however long its lease lasts. */
export function heldNow(row: RunRow): RunRow {
  return row.owner !== undefined && isDeadHere(row.owner) ? { ...row, owner: undefined } : row;
}
