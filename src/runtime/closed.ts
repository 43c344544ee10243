/** What becomes of those who still wait when a Rath is closed or a run has ended here. */
import { RathError } from "../session/errors.ts";
import type { Execution } from "./execution.ts";

export function closedRath(): RathError {
  return new RathError("rath.closed", "This Rath was closed: open another one to continue the session.");
}

/** Whoever waits outside a workflow is told that its Rath was closed, once it is; a frame of a run that ended goes no further. */
export async function gone({ runtime, mode, leaving }: Execution): Promise<never> {
  await leaving;
  if (runtime.closed && mode !== "run") throw closedRath();
  return never();
}

/** A frame of a run that ended here goes no further. */
export function never(): Promise<never> {
  return new Promise(() => {});
}
