/** An approval holds for the files as they were when it was asked for. */
import { stateOf } from "../session/fold.ts";
import type { Node } from "../session/log.ts";
import type { Owner, Services } from "./services.ts";

/**
 * Files of a directory that nobody used yet are taken before anybody is asked. One that cannot be read is not asked about here;
 * whoever acts on it meets the same.
 */
export async function bindFiles(execution: Owner & { readonly runtime: Services }, called: Node): Promise<void> {
  if (stateOf(called).base === undefined) return;
  const stage = execution.runtime.stage(execution, called, new AbortController().signal, () => {});
  await stage.tree().catch(() => {});
}
