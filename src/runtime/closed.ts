/** What becomes of those who still wait when a Rath is closed or a run has ended here. */
import { RathError } from "../session/errors.ts";

export function closedRath(): RathError {
  return new RathError("rath.closed", "This Rath was closed: open another one to continue the session.");
}

/** A frame of a run that ended here goes no further. */
export function never(): Promise<never> {
  return new Promise(() => {});
}
