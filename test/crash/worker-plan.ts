/** What a worker of the storm is told, and the store it opens. */
import { readFileSync, writeFileSync } from "node:fs";
import { Key } from "../../src/runtime/key.ts";
import type { RuntimeOptions } from "../../src/runtime/runtime-options.ts";
import { postgresStore } from "../../src/store/postgres.ts";
import { sqliteStore } from "../../src/store/sqlite.ts";
import type { Store } from "../../src/store/store.ts";

/** A broken runtime or store that the storm must notice. */
export type Mutant = "no fencing" | "epoch per branch" | "no intent" | "early ack";

export interface WorkerPlan {
  /** A file, or the address of a PostgreSQL server. */
  readonly store: string;
  /** The file that everything outside is written to. */
  readonly witness: string;
  readonly concurrency: number;
  /** How many appends stand still before they are made, from 0 to 1, and how long. */
  readonly lulls: number;
  readonly lullMs: number;
  /** Stands still before every append that holds this text. */
  readonly lullAt?: string | undefined;
  readonly times?: Partial<RuntimeOptions["times"]> | undefined;
  readonly mutant?: Mutant | undefined;
  /** A folder of its own, for what lies beside the store. */
  readonly home?: string | undefined;
}

export async function openWorkerStore({ store }: Pick<WorkerPlan, "store">): Promise<Store> {
  return store.startsWith("postgres") ? postgresStore(store) : sqliteStore(store);
}

/** All who work on one store sign with one key. */
export function keyBeside({ witness }: Pick<WorkerPlan, "witness">): Key {
  const file = `${witness}.pem`;
  try {
    writeFileSync(file, new Key(undefined).pem, { flag: "wx" });
  } catch {
    // Somebody else made it.
  }
  return new Key(readFileSync(file, "utf8"));
}
