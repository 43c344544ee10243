/** Stores that fence, hand out, wake, release or remove wrongly: the conformance suite must catch each. */
import { describe, expect, test } from "vitest";
import { eraseCases } from "../testing/store-erase-cases.ts";
import { leaseCases } from "../testing/store-lease-cases.ts";
import { takeCases } from "../testing/store-take-cases.ts";
import { memoryStore } from "./memory.ts";
import type { Lease, LogPlace, RemoveOptions, RunRow, Store, TakenRun, TakeQuery, Write, Written } from "./store.ts";

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
  return appending((store, write) => store.append({ ...write, lease: undefined }));
}

function appending(append: (store: Store, write: Write) => Promise<Written>): Store {
  const store = memoryStore();
  return { ...store, append: (write) => append(store, write) };
}

/** Looks for what is due with `query` of its own and claims it one by one: what a store does that has no transaction for it. */
function taking(find: (store: Store, query: TakeQuery) => Promise<RunRow[]>, steal = false): Store {
  const store = memoryStore();
  const take = async (query: TakeQuery, worker: string, forMs: number): Promise<TakenRun[]> => {
    const taken: TakenRun[] = [];
    for (const row of (await find(store, query)).slice(0, query.limit)) {
      const lease = await store.claim(row.id, worker, forMs, steal ? { from: row.owner } : {});
      if (lease !== undefined) taken.push({ row: { ...row, owner: worker, woken: undefined }, lease });
    }
    return taken;
  };
  return { ...store, take };
}

interface Due {
  readonly held?: boolean;
  readonly unknown?: boolean;
  readonly woken?: boolean;
  readonly order?: (a: RunRow, b: RunRow) => number;
}

/** The runs that are due, but for what the mutant has wrong. */
function due({ held = false, unknown = false, woken = true, order = urgency }: Due) {
  return async (store: Store, { workflows }: TakeQuery): Promise<RunRow[]> => {
    const now = new Date().toISOString();
    const rows: RunRow[] = [];
    for await (const row of store.runs({})) {
      const isDue = (woken && row.woken) || (row.wakeAt !== undefined && row.wakeAt <= now);
      if (isDue && (held || row.owner === undefined) && (unknown || workflows.includes(row.workflow))) rows.push(row);
    }
    return rows.sort(order);
  };
}

const byTime = (a: RunRow, b: RunRow): number => (a.wakeAt ?? "").localeCompare(b.wakeAt ?? "");
const urgency = (a: RunRow, b: RunRow): number => (b.priority ?? 0) - (a.priority ?? 0) || byTime(a, b);

/** Every row written says that nobody woke the run. */
function wokenClearedByRow(): Store {
  return appending(async (store, write) => {
    const [before] = write.run && write.lease ? await rows(store, write.run.id) : [];
    if (before?.woken && write.lease) await store.renew(write.lease, 60_000);
    return store.append(write);
  });
}

/** A run that is given back is thought to have heard its news. */
function wokenClearedByRelease(): Store {
  return appending(async (store, write) => {
    if (write.release && write.lease) await store.renew(write.lease, 60_000);
    return store.append(write);
  });
}

/** News reach a run only if nobody holds it. */
function wokenOnlyIfFree(): Store {
  return appending(async (store, write) => {
    const wake: string[] = [];
    for (const id of write.wake ?? []) if ((await rows(store, id))[0]?.owner === undefined) wake.push(id);
    return store.append({ ...write, wake });
  });
}

/** News in a commit of their own, before the write is judged. */
function wokenFirst(): Store {
  return appending(async (store, write) => {
    await store.append({ branches: [], wake: write.wake });
    return store.append({ ...write, wake: undefined });
  });
}

/** The lease given back in a step of its own, whatever became of the write. */
function releasedAnyway(): Store {
  return appending(async (store, write) => {
    if (write.release && write.lease) await store.release(write.lease);
    return store.append({ ...write, release: false });
  });
}

/** A claim and a renewal that hear no news. */
function wokenForEver(): Store {
  const store = memoryStore();
  const deaf = async (lease: Lease | undefined): Promise<Lease | undefined> => {
    if (lease !== undefined) await store.append({ branches: [], wake: [lease.run] });
    return lease;
  };
  return { ...store, renew: async (lease, forMs) => deaf(await store.renew(lease, forMs)) };
}

function leases(change: (lease: Lease) => Lease): Store {
  const store = memoryStore();
  const claim: Store["claim"] = async (...given) => {
    const lease = await store.claim(...given);
    return lease && change(lease);
  };
  const take: Store["take"] = async (...given) => (await store.take(...given)).map(({ row, lease }) => ({ row, lease: change(lease) }));
  return { ...store, claim, take };
}

/** Judges what came after the place by itself. */
function removing(isRefused: (store: Store, after: string) => Promise<boolean>): Store {
  const store = memoryStore();
  const remove = async (logs: readonly LogPlace[], { after }: RemoveOptions = {}): Promise<boolean> =>
    (after === undefined || !(await isRefused(store, after))) && (await (store as Required<Store>).remove(logs));
  return { ...store, remove };
}

async function rows(store: Store, id: string): Promise<RunRow[]> {
  const found: RunRow[] = [];
  for await (const row of store.runs({ id })) found.push(row);
  return found;
}

const fencing = [
  "a zombie is fenced before the new owner has appended anything",
  "a takeover fences every branch of the run, forks and new logs too",
];

const mutants: readonly (readonly [string, () => Store, readonly string[]])[] = [
  ["an epoch for each branch", epochPerBranch, fencing],
  ["no epoch", unfenced, [...fencing, "a release with an older epoch is refused with all of its write"]],
  ["held runs among the due", () => taking(due({ held: true }), true), ["held runs are not taken, by their holder neither"]],
  ["its own held runs among the due", () => taking(due({ held: true })), ["held runs are not taken, by their holder neither"]],
  [
    "leases that are taken from whoever was quicker",
    () => taking(due({ held: true }), true),
    ["many workers that take at once share the runs: each run once, none left"],
  ],
  ["no eye for workflows", () => taking(due({ unknown: true })), ["runs of workflows that the worker does not know are left"]],
  ["no ear for wakes", () => taking(due({ woken: false })), ["a run that is woken while it parks is due at once"]],
  [
    "no priorities",
    () => taking(due({ order: byTime })),
    ["the highest priority goes first, then the longest due", "a rewritten row is due by its new time and priority"],
  ],
  [
    "whole priorities only",
    () => taking(due({ order: (a, b) => Math.trunc(b.priority ?? 0) - Math.trunc(a.priority ?? 0) || byTime(a, b) })),
    ["the highest priority goes first, then the longest due"],
  ],
  [
    "the longest due last",
    () => taking(due({ order: (a, b) => (b.priority ?? 0) - (a.priority ?? 0) || byTime(b, a) })),
    [
      "the highest priority goes first, then the longest due",
      "the order holds for a backlog, across workflows and for runs whose holder died",
    ],
  ],
  ["news that put a run behind all others", () => taking(due({ order: wokenLast })), ["a woken run is due since it was woken"]],
  [
    "news that a written row clears",
    wokenClearedByRow,
    ["a run that is woken while it parks is due at once", "a run that is woken while it is held is due once it is released by itself"],
  ],
  ["news that a release clears", wokenClearedByRelease, ["a run that is woken while it parks is due at once"]],
  [
    "news for free runs only",
    wokenOnlyIfFree,
    ["a run that is woken while it parks is due at once", "the holder of a woken run sees that it was woken, until it claims or renews"],
  ],
  ["news that a renewal leaves", wokenForEver, ["the holder of a woken run sees that it was woken, until it claims or renews"]],
  [
    "news in a commit of their own",
    wokenFirst,
    ["a refused write wakes nobody and releases nothing", "a row is written and woken in one commit"],
  ],
  ["releases in a commit of their own", releasedAnyway, ["a refused write wakes nobody and releases nothing"]],
  [
    "releases that are forgotten",
    () => appending((store, write) => store.append({ ...write, release: false })),
    ["a release in a write frees the run with it, also after the lease expired", "a run that is woken while it parks is due at once"],
  ],
  [
    "nobody who abandons",
    () => leases(({ abandoned: _, ...lease }) => lease),
    [
      "an expired lease is taken, fenced and said to be abandoned",
      "a run whose holder let the lease run out is due, whatever its row says",
    ],
  ],
  [
    "everybody abandoning",
    () => leases((lease) => (lease.epoch > 1 ? { ...lease, abandoned: true } : lease)),
    [
      "a lease that was given back is not abandoned, even if it had expired",
      "a claim says abandoned of another's lease and of its own that ran out, not of its own that lasts",
    ],
  ],
  [
    "no eye for what came after the place",
    () => removing(async () => false),
    ["remove takes nothing when something was appended after the place that is given", "remove refuses a place that the feed never had"],
  ],
  [
    "an eye for entries of erasures too",
    () => removing(async (store, after) => after !== (await store.fedTo())),
    ["entries of erasures after the place, claims and rows of runs keep no log"],
  ],
];

function wokenLast(a: RunRow, b: RunRow): number {
  return Number(a.woken ?? false) - Number(b.woken ?? false) || byTime(a, b);
}

describe.each(mutants)("a store with %s", (_, create, caught) => {
  test.each(caught)("fails: %s", async (name) => {
    const found = [...leaseCases, ...takeCases, ...eraseCases].find((one) => one.name === name);
    expect(found).toBeDefined();
    await expect(found?.run(create(), async (store) => store)).rejects.toThrow();
    await expect(found?.run(memoryStore(), async (store) => store)).resolves.toBeUndefined();
  });
});
