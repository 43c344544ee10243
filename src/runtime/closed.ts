/** What becomes of those who still wait when a Rath is closed or a run has ended here. */
import { RathError } from "../session/errors.ts";
import type { Effect } from "../session/host.ts";
import type { Execution } from "./execution.ts";

export function closedRath(): RathError {
  return new RathError("rath.closed", "This Rath was closed: open another one to continue the session.");
}

/** Said to whoever still waits for something: most often somebody forgot to. */
export function closedBefore(what: string, had: "started" | "ended"): RathError {
  return new RathError("rath.closed", `${what} had not ${had} when the Rath was closed; is an await missing?`);
}

function nameOf({ op, called }: Effect): string {
  const name = called["name"] ?? called["question"] ?? called["signal"] ?? called["model"];
  return typeof name === "string" ? `${op} ${JSON.stringify(name)}` : op;
}

/** Whoever waits outside a workflow is told that its Rath was closed, once it is; a frame of a run that ended goes no further. */
export async function gone({ runtime, mode, leaving }: Execution, effect: Effect): Promise<never> {
  await leaving;
  if (runtime.closed && mode !== "run") throw closedBefore(runtime.clean(nameOf(effect)), "ended");
  return never();
}

/** A frame of a run that ended here goes no further. */
export function never(): Promise<never> {
  return new Promise(() => {});
}
