/** The workflows that workers of the storm know. */
import type { Store } from "../../src/store/store.ts";
import type { Workflow } from "../../src/workflow/workflow.ts";
import { Orders } from "./orders.ts";
import { Witness } from "./witness.ts";
import type { WorkerPlan } from "./worker-plan.ts";

export function workerFlows(plan: WorkerPlan, _store: Store): Readonly<Record<string, Workflow>> {
  const witness = new Witness(plan.witness);
  return { orders: new Orders(witness) };
}
