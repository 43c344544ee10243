/** An event for whoever follows a stream: as it is, or why it cannot be read. Nobody is kept from what comes after it. */
import { RathError } from "../session/errors.ts";
import type { Event } from "../session/event.ts";
import type { Platform } from "../session/platform.ts";
import { textOfThrown } from "../session/thrown.ts";
import type { Store, StoredEvent } from "../store/store.ts";
import { readEvent } from "./load.ts";

export type ReadOrProblem =
  | { readonly event: Event; readonly problem?: undefined }
  | { readonly event?: undefined; readonly problem: RathError };

/** Rejects where it may be otherwise when it is tried again. */
export async function readOrProblem(platform: Platform, store: Store, stored: StoredEvent): Promise<ReadOrProblem> {
  try {
    return { event: await readEvent(platform, store, stored) };
  } catch (error) {
    if (RathError.is(error) && (error.retryable || error.code === "store.closed" || error.code === "rath.closed")) throw error;
    if (RathError.is(error)) return { problem: error };
    return { problem: new RathError("store.corrupt", `The event cannot be read: ${textOfThrown(error)}.`, { cause: error }) };
  }
}
