/** A durable run outlives a store that is away for a while: what may be tried again is tried again. */
import { RathError } from "../session/errors.ts";

const shortestMs = 20;
const longestMs = 1000;

/** What the work comes to in the end. Somebody outside a run waits for it himself, and is told at once. */
export async function patiently<T>(execution: { readonly mode: string; readonly closed: boolean }, work: () => Promise<T>): Promise<T> {
  for (let wait = shortestMs; ; wait = Math.min(wait * 2, longestMs)) {
    try {
      return await work();
    } catch (error) {
      if (execution.mode !== "run" || execution.closed || !RathError.is(error) || !error.retryable) throw error;
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }
}
