/**
 * One process of the kill test: claims runs, appends a chain to each, and says on stdout what was acknowledged, after it was.
 * The parent holds the store to it. Lines: CLAIMED run "" epoch time-after, ACK log id epoch time-before, REFUSED reason.
 *
 * node --import tsx store-worker.ts FILE WORKER RUNS LEASE_MS MUTANT. It ends when its standard input does.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { sqliteStore } from "../../src/store/sqlite.ts";
import type { Lease, Store, StoredEvent, Write } from "../../src/store/store.ts";
import { storedEvent } from "../../src/testing/stored-event.ts";

const [file = "", worker = "", runs = "0", leaseMs = "0", mutant = "none"] = process.argv.slice(2);

/** Stores that a careless adapter would be. */
function mutated(store: Store): Store {
  if (mutant === "no epoch") return { ...store, append: (write) => store.append({ ...write, lease: undefined }) };
  if (mutant === "no head") return { ...store, append: (write) => appendAnywhere(store, write) };
  if (mutant === "early ack") return { ...store, append: (write) => late(store, write) };
  return store;
}

/** Ignores the expected head: whatever is there is what was expected. */
async function appendAnywhere(store: Store, write: Write): ReturnType<Store["append"]> {
  const written = await store.append(write);
  if (written.ok || written.reason === "epoch") return written;
  const branches = write.branches.map((branch) =>
    branch.session === written.session ? { ...branch, expectedHead: written.head } : branch,
  );
  return appendAnywhere(store, { ...write, branches });
}

/** Acknowledged first, stored when there is time. */
async function late(store: Store, write: Write): ReturnType<Store["append"]> {
  setTimeout(() => void store.append(write), 150);
  return { ok: true };
}

const say = (...words: (string | number)[]) =>
  new Promise<void>((resolve) => process.stdout.write(`${words.join(" ")}\n`, () => resolve()));

/** Comparable between processes of one machine. */
const now = () => performance.timeOrigin + performance.now();

const store = mutated(sqliteStore(file));

let ending = false;
process.stdin.on("end", () => {
  ending = true;
});
process.stdin.resume();

async function head(session: string): Promise<StoredEvent | undefined> {
  let last: StoredEvent | undefined;
  for await (const event of store.events({ session })) last = event;
  return last;
}

/** Adds to a log that all workers share without a lease: only its head is checked. */
async function note(): Promise<void> {
  for (;;) {
    const last = await head("board");
    const event = storedEvent({
      session: "board",
      step: (last?.step ?? -1) + 1,
      parents: last ? [last.id] : [],
      data: worker,
      facts: { epoch: 0 },
    });
    await sleep(Math.random() * 3);
    const written = await store.append({ branches: [{ session: "board", expectedHead: last?.id, events: [event] }] });
    if (written.ok) return say("ACK", "board", event.id, 0, 0);
  }
}

/** Appends a few events to the run's session and to a fork of it, unless it is fenced. */
async function work(run: string, lease: Lease): Promise<void> {
  let held = lease;
  let last = await head(run);
  let fork = await head(`${run}/fork`);
  const first = (last?.step ?? -1) + 1;
  const end = first + 10 + Math.random() * 30;
  for (let step = first; step < end && !ending; step++) {
    const event = storedEvent({
      session: run,
      step,
      run,
      order: step,
      parents: last ? [last.id] : [],
      data: `${worker} ${held.epoch}`,
      facts: { epoch: held.epoch },
    });
    const forked = storedEvent({
      session: `${run}/fork`,
      step: (fork?.step ?? -1) + 1,
      run,
      order: step,
      parents: fork ? [fork.id] : [],
      facts: { epoch: held.epoch },
    });
    const both = step % 3 === 0;
    const branches = [
      { session: run, expectedHead: last?.id, events: [event] },
      ...(both ? [{ session: `${run}/fork`, expectedHead: fork?.id, events: [forked] }] : []),
    ];
    const before = now();
    const written = await store.append({ branches, lease: held });
    if (!written.ok) {
      await say("REFUSED", written.reason);
      return;
    }
    await say("ACK", run, event.id, held.epoch, before);
    if (both) await say("ACK", run, forked.id, held.epoch, before);
    last = event;
    if (both) fork = forked;
    await sleep(Math.random() * 4);
    if (step % 4 === 0) await note();
    if (step % 8 === 0) held = (await store.renew(held, Number(leaseMs))) ?? held;
  }
  await store.release(held);
}

async function main(): Promise<void> {
  const names = Array.from({ length: Number(runs) }, (_, i) => `run-${i}`);
  while (!ending) {
    for (const run of names.sort(() => Math.random() - 0.5)) {
      const lease = ending ? undefined : await store.claim(run, worker, Number(leaseMs));
      if (lease === undefined) continue;
      await say("CLAIMED", run, "", lease.epoch, now());
      // A new owner that has not appended yet: only the epoch can hold off the old one, which wakes about now.
      const slow = Math.random() < 0.5 ? await store.renew(lease, Number(leaseMs) * 4) : undefined;
      if (slow) await sleep(Number(leaseMs) * 2);
      await work(run, slow ?? lease);
    }
    await sleep(5);
  }
  await sleep(200);
  await store[Symbol.asyncDispose]();
}

await main();
