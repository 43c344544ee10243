/** Stores that fence wrongly: the conformance suite must catch each. */
import { describe, expect, test } from "vitest";
import { leaseCases } from "../testing/store-lease-cases.ts";
import { memoryStore } from "./memory.ts";
import type { Store, Write, Written } from "./store.ts";

/** An epoch for each branch instead of one for the run: a branch the new owner has not written yet is open to a zombie. */
function epochPerBranch(): Store {
  const store = memoryStore();
  const newest = new Map<string, number>();
  const append = async (write: Write): Promise<Written> => {
    const epoch = write.lease?.epoch ?? 0;
    const stale = write.branches.find(({ session }) => (newest.get(session) ?? 0) > epoch);
    if (write.lease !== undefined && stale !== undefined) return { ok: false, reason: "epoch", epoch: newest.get(stale.session) ?? 0 };
    for (const { session } of write.branches) newest.set(session, epoch);
    return store.append({ ...write, lease: undefined });
  };
  return { ...store, append };
}

/** No epoch at all. */
function unfenced(): Store {
  const store = memoryStore();
  return { ...store, append: (write) => store.append({ ...write, lease: undefined }) };
}

const caught = [
  "a zombie is fenced before the new owner has appended anything",
  "a takeover fences every branch of the run, forks and new logs too",
];

describe.each([
  ["an epoch for each branch", epochPerBranch],
  ["no epoch", unfenced],
])("a store with %s", (_, create) => {
  test.each(caught)("fails: %s", async (name) => {
    const found = leaseCases.find((one) => one.name === name);
    expect(found).toBeDefined();
    await expect(found?.run(create(), async (store) => store)).rejects.toThrow();
    await expect(found?.run(memoryStore(), async (store) => store)).resolves.toBeUndefined();
  });
});
