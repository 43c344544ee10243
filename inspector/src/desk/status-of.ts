/** What is said of a session: its run knows that it is at work, or waits elsewhere. */
import type { Standing } from "./use-standing.ts";

export function statusOf<Status extends string>(
  { id, status }: { readonly id: string; readonly status?: Status | undefined },
  { running, waiting }: Pick<Standing, "running" | "waiting">,
): Status | "running" | "waiting" | undefined {
  return running.has(id) ? "running" : waiting.has(id) ? "waiting" : status;
}
