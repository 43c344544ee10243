/**
 * Cancelling from anywhere. The request is the only event of a log derived from `run.started`, written with a wake-up: it outlives
 * whoever asked, and whoever executes the run or takes it up next obeys it.
 */

import { dataText, envelopeOf } from "../session/codec.ts";
import { RathError } from "../session/errors.ts";
import type { DataOf } from "../session/event.ts";
import type { StoredEvent } from "../store/store.ts";
import type { Execution } from "./execution.ts";
import type { Runtime } from "./runtime.ts";
import type { Given } from "./services.ts";

/** Asks for it, durably. Somebody may have asked before: the first reason counts. */
export async function requestCancel(runtime: Runtime, run: string, reason: string, by: string): Promise<void> {
  const { id } = await startedOf(runtime, run);
  try {
    await runtime.answers.give(id, { by, reason, cancel: true }, run);
  } catch (error) {
    if (!RathError.is(error, "pending.answered")) throw error;
  }
}

/** The request, when there is one. */
export function cancelOf(runtime: Runtime, started: string): Promise<Given | undefined> {
  return runtime.answers.find(started);
}

async function startedOf(runtime: Runtime, run: string): Promise<StoredEvent> {
  for await (const event of (await runtime.store()).events({ session: run, to: 1 }))
    if (envelopeOf(runtime.platform, event).kind === "run.started") return event;
  throw new RathError("run.not-found", `There is no run ${run} in this store.`, { details: { run } });
}

/** The run that started it, where one did; undefined when it was about to be started, and never was. */
async function startedBy(runtime: Runtime, run: string): Promise<string | undefined> {
  try {
    const { data } = await startedOf(runtime, run);
    return data === undefined ? undefined : (JSON.parse(dataText(runtime.platform, data)) as DataOf<"run.started">).parent;
  } catch (error) {
    if (RathError.is(error, "run.not-found")) return undefined;
    throw error;
  }
}

/** The runs that a run has started are cancelled with it; not one of the same key that somebody else had started before it. */
export async function cancelChildren(runtime: Runtime, { id, log }: Execution): Promise<void> {
  for (let node = log.tip; node !== undefined; node = node.prior) {
    if (node.kind !== "run.spawned") continue;
    const { run } = node.data<"run.spawned">(runtime.platform);
    if ((await startedBy(runtime, run)) === id) await requestCancel(runtime, run, `run ${id} was cancelled`, "runtime");
  }
}

/** Whoever started it, or executed it since, knew that its workflow has an `onCancel`. */
export function isToBeMadeGood(runtime: Runtime, { log }: Execution): boolean {
  for (let node = log.tip; node !== undefined; node = node.prior)
    if ((node.kind === "run.started" || node.kind === "run.resumed") && node.data<typeof node.kind>(runtime.platform).onCancel === true)
      return true;
  return false;
}
