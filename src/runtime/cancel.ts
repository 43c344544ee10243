/**
 * Cancelling from anywhere. The request is the only event of a log derived from `run.started`, written with a wake-up: it outlives
 * whoever asked, and whoever executes the run or takes it up next obeys it.
 */

import { envelopeOf } from "../session/codec.ts";
import { RathError } from "../session/errors.ts";
import type { Execution } from "./execution.ts";
import type { Runtime } from "./runtime.ts";
import type { Given } from "./services.ts";

/** Asks for it, durably. Somebody may have asked before: the first reason counts. */
export async function requestCancel(runtime: Runtime, run: string, reason: string, by: string): Promise<void> {
  const question = await startedOf(runtime, run);
  try {
    await runtime.answers.give(question, { by, reason, cancel: true }, run);
  } catch (error) {
    if (!RathError.is(error, "pending.answered")) throw error;
  }
}

/** The request, when there is one. */
export function cancelOf(runtime: Runtime, started: string): Promise<Given | undefined> {
  return runtime.answers.find(started);
}

async function startedOf(runtime: Runtime, run: string): Promise<string> {
  for await (const event of (await runtime.store()).events({ session: run, to: 1 }))
    if (envelopeOf(runtime.platform, event).kind === "run.started") return event.id;
  throw new RathError("run.not-found", `There is no run ${run} in this store.`, { details: { run } });
}

/** The runs that a run has started are cancelled with it. */
export async function cancelChildren(runtime: Runtime, { id, log }: Execution): Promise<void> {
  for (let node = log.tip; node !== undefined; node = node.prior) {
    if (node.kind !== "run.spawned") continue;
    await requestCancel(runtime, node.data<"run.spawned">(runtime.platform).run, `run ${id} was cancelled`, "runtime").catch((error) => {
      // It was about to be started, and never was.
      if (!RathError.is(error, "run.not-found")) throw error;
    });
  }
}

/** Whoever started it, or executed it since, knew that its workflow has an `onCancel`. */
export function isToBeMadeGood(runtime: Runtime, { log }: Execution): boolean {
  for (let node = log.tip; node !== undefined; node = node.prior)
    if ((node.kind === "run.started" || node.kind === "run.resumed") && node.data<typeof node.kind>(runtime.platform).onCancel === true)
      return true;
  return false;
}
