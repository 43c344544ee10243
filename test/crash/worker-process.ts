/**
 * One worker of the storm: takes runs from the store until it is told to stop, or dies. It says on stdout what the storm must know:
 * READY, TAKEN run epoch abandoned, FENCED run, LOST run, LULL run, BUSY count, BEAT, FULL.
 *
 * node --import tsx worker-process.ts PLAN (JSON). It begins at the first line of its standard input and ends when that ends.
 */
import { composeRath } from "../../src/openrath.ts";
import type { Store } from "../../src/store/store.ts";
import { workerFlows } from "./worker-flows.ts";
import { mutateRuntime, mutateStore } from "./worker-mutants.ts";
import { keyBeside, openWorkerStore, type WorkerPlan } from "./worker-plan.ts";

const plan = JSON.parse(process.argv[2] ?? "") as WorkerPlan;
const say = (...words: (string | number)[]): void => void process.stdout.write(`${words.join(" ")}\n`);

/** Tells what becomes of leases, and stands still before some appends, as a busy disk or a long pause of the process would. */
function spoken(store: Store): Store {
  return {
    ...store,
    append: async (write) => {
      const text =
        write.lease === undefined ? "" : write.branches.flatMap(({ events }) => events.map(({ data }) => Buffer.from(data ?? []))).join("");
      const named = plan.lullAt !== undefined && text.includes(plan.lullAt);
      if (write.lease !== undefined && (named || Math.random() < plan.lulls)) {
        say("LULL", write.lease.run);
        stand(plan.lullMs);
      }
      const written = await store.append(write).catch((error: unknown) => {
        if (String(error).includes("full")) say("FULL");
        throw error;
      });
      if (!written.ok && written.reason === "epoch") say("FENCED", write.lease?.run ?? "");
      return written;
    },
    take: async (query, worker, forMs) => {
      const taken = await store.take(query, worker, forMs);
      for (const { lease } of taken) say("TAKEN", lease.run, lease.epoch, lease.abandoned === true ? "abandoned" : "free");
      return taken;
    },
    renew: async (lease, forMs) => {
      const renewed = await store.renew(lease, forMs);
      if (renewed === undefined) say("LOST", lease.run);
      return renewed;
    },
  };
}

/** Blocks the whole process, so that nothing can tell it meanwhile that it lost its lease. */
function stand(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

mutateRuntime(plan.mutant);
const opened = await openWorkerStore(plan);
const store = mutateStore(spoken(opened), opened, plan.mutant);
const rath = composeRath(
  { store, implicitForks: "allow", workflows: workerFlows(plan) },
  { openKey: async () => keyBeside(plan), times: plan.times ?? {} },
);
const stop = new AbortController();
process.once("SIGTERM", () => stop.abort());
process.stdin.on("end", () => stop.abort());
say("READY");
await new Promise((resolve) => process.stdin.once("data", resolve));
setInterval(() => say("BEAT"), 50).unref();
let busy = -1;
await rath.work({
  concurrency: plan.concurrency,
  signal: stop.signal,
  drain: "2s",
  report: ({ executing }) => {
    if (executing !== busy) say("BUSY", executing);
    busy = executing;
  },
});
await rath.close();
process.exit(0);
