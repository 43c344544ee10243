/**
 * The storm: worker processes on one store, more orders than they can do at once, and one fault after the other until every kind
 * of them has happened often enough. A decider answers questions and settles unknown effects by what the witness saw. Afterwards
 * every order must have ended as it should: see storm-checks.ts.
 */
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { composeRath } from "../../src/openrath.ts";
import type { Rath } from "../../src/runtime/rath.ts";
import type { Store } from "../../src/store/store.ts";
import { Decider } from "./decider.ts";
import { Fleet } from "./fleet.ts";
import { check, type Findings } from "./storm-checks.ts";
import { type Faults, faultsOf, type Weather } from "./storm-faults.ts";
import { Witness } from "./witness.ts";
import { keyBeside, openWorkerStore, type WorkerPlan } from "./worker-plan.ts";

export interface StormPlan {
  readonly seed: number;
  /** A folder for the witness. */
  readonly folder: string;
  readonly store: string;
  readonly weather: Weather;
  /** How often each fault must have happened. */
  readonly least: Partial<Faults>;
  readonly orders: number;
  readonly workers: number;
  readonly leaseMs: number;
  /** It goes on at least so long, and gives up hoping for faults after the second. */
  readonly forMs?: number | undefined;
  readonly patienceMs: number;
  /** How long those that are left may take when all is calm. */
  readonly endMs?: number | undefined;
  readonly mutant?: WorkerPlan["mutant"];
  readonly progress?: ((line: string) => void) | undefined;
}

export interface Report extends Findings {
  readonly seed: number;
  readonly orders: number;
  readonly ms: number;
  readonly faults: Faults;
  readonly unexpected: readonly string[];
  readonly warnings: string;
}

/** How many orders are open at once: enough that every worker has several, not so many that the last ones start late. */
const openPerWorker = 10;

export async function storm(plan: StormPlan): Promise<Report> {
  const start = performance.now();
  const witness = new Witness(join(plan.folder, "witness"));
  const worker: WorkerPlan = {
    store: plan.store,
    witness: join(plan.folder, "witness"),
    concurrency: 8,
    lulls: 0.04,
    lullMs: 25,
    times: { leaseMs: plan.leaseMs, lookMs: 60, parkGraceMs: 5 },
    mutant: plan.mutant,
  };
  await using fleet = new Fleet(worker);
  await using store = await openWorkerStore(worker);
  const rath = composeRath({ store: kept(store), implicitForks: "allow" }, { openKey: async () => keyBeside(worker) });
  const decider = new Decider(rath, store, witness, fleet);
  const orders = new Map<string, string>();
  await fleet.start(plan.workers);
  const deciding = decider.start(orders);

  const random = seeded(plan.seed);
  const faults = faultsOf(plan.weather, fleet, decider, random, plan);
  const enough = (): boolean =>
    Object.entries(plan.least).every(([fault, least]) => faults.counts()[fault as keyof Faults] >= (least ?? 0));
  let told = start;
  while (performance.now() - start < plan.patienceMs) {
    const over = orders.size >= plan.orders && performance.now() - start >= (plan.forMs ?? 0) && enough();
    if (over) break;
    await decider.insist(() => submit(rath, orders, plan.workers * openPerWorker - decider.open(orders)));
    await faults.next();
    await pause(20 + random() * 80);
    await fleet.mend(plan.workers);
    if (performance.now() - told > 10_000) {
      told = performance.now();
      plan.progress?.(line(orders, decider, faults.counts(), start));
    }
  }
  await faults.calm();
  await decider.allEnded(orders, plan.endMs ?? 30_000, () => fleet.mend(plan.workers));
  decider.stop();
  await deciding;
  const ms = performance.now() - start;
  const findings = await check({ rath, store, witness, orders, decider });
  await Promise.all(fleet.working.map((each) => each.drain()));
  await rath.close();
  return {
    ...findings,
    seed: plan.seed,
    orders: orders.size,
    ms,
    faults: faults.counts(),
    unexpected: fleet.casualties,
    warnings: fleet.errors,
  };
}

async function submit(rath: Rath, orders: Map<string, string>, count: number): Promise<void> {
  for (let left = count; left > 0; left--) {
    const order = `order-${orders.size + 1}`;
    // With a key, so that whoever does not know whether it was queued asks again.
    const run = await rath.run("orders", rath.session(order), { queue: true, key: order, priority: orders.size % 3 });
    orders.set(run.id, order);
  }
}

function line(orders: ReadonlyMap<string, string>, decider: Decider, faults: Faults, start: number): string {
  const seconds = (performance.now() - start) / 1000;
  const done = orders.size - decider.open(orders);
  return `${seconds.toFixed(0)} s: ${done} of ${orders.size} orders done, ${(done / seconds).toFixed(1)} a second; ${JSON.stringify(faults)}`;
}

/** Closing the Rath leaves the store open. */
function kept(store: Store): Store {
  return { ...store, [Symbol.asyncDispose]: async () => {} };
}

/** Numbers in [0, 1) that follow from the seed (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
