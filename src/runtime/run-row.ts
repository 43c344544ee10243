/** The row of a run, as stores keep it. */
import type { RunRow, Store } from "../store/store.ts";

const endedStatuses: ReadonlySet<string> = new Set(["done", "failed", "cancelled"]);

export async function rowOfRun(store: Store, id: string): Promise<RunRow | undefined> {
  for await (const row of store.runs({ id })) return row;
  return undefined;
}

export function hasEnded(status: string): boolean {
  return endedStatuses.has(status);
}
