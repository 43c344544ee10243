/** The row of a run, as the store has it. */
import type { RunRow, Store } from "../store/store.ts";

const ended: ReadonlySet<string> = new Set(["done", "failed", "cancelled"]);

export function hasEnded(status: string): boolean {
  return ended.has(status);
}

export async function rowOfRun(store: Store, id: string): Promise<RunRow | undefined> {
  for await (const row of store.runs({ id })) return row;
  return undefined;
}
