/**
 * A session that somebody else continued is read on here, although something is held of it that nobody has saved: that goes on as an
 * implicit fork, in memory, as it would at its first write.
 */
import type { Scope } from "../session/id.ts";
import type { Log, Node } from "../session/log.ts";
import { relink } from "./relink.ts";
import type { Services } from "./services.ts";

/** For whom it goes on: whoever acts outside any workflow. */
interface Holder {
  readonly runtime: Services;
  readonly scope: Scope;
  ordinal(base: Node, scope: Scope, name: string): number;
}

/** How often it is waited for those who are about to write. */
const tries = 3;

/** Brings what is not written of a log out of the way, unless a workflow works on it here. */
export async function moveAside(holder: Holder, log: Log): Promise<void> {
  for (let i = 0; i < tries; i++) {
    const writer = log.unwritten().find(({ queued }) => queued !== undefined)?.queued;
    if (writer === undefined) break;
    // It is written now, or moves because that is refused; if it fails, whoever waits for it is told.
    if (!(await (writer as { flush(): Promise<void> }).flush().then(isDone, isNotDone))) return;
  }
  setAside(holder, log);
}

const isDone = (): boolean => true;
const isNotDone = (): boolean => false;

/** True when nothing unwritten is left at the end of the log. */
export function setAside(holder: Holder, log: Log): boolean {
  const unwritten = log.unwritten();
  if (unwritten.length === 0) return true;
  if (log.owner !== undefined || log.kind !== "session" || log.storedHead === undefined) return false;
  if (unwritten.some(({ queued }) => queued !== undefined)) return false;
  relink(holder.runtime, log, [], holder.scope, (base, scope) => holder.ordinal(base, scope, "implicit"));
  return true;
}
