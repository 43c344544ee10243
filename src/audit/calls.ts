/** Which results belong to which calls, in the events of one log. */
import { isCalled, isReturned, isStarted } from "../session/event.ts";
import type { Entry } from "./inspect.ts";

/** A call of an effect, and how far it came. */
export interface Call {
  readonly call: string;
  /** The signals it waits for. */
  readonly signal: string | undefined;
  /** It has a result. */
  readonly settled: boolean;
  /** It began only after somebody said that it may. */
  readonly started: boolean;
}

/** The calls in the events of one log, oldest first. */
export function callsOf(entries: readonly Entry[]): readonly Call[] {
  const calls = new Map<string, { -readonly [K in keyof Call]: Call[K] }>();
  let last: string | undefined;
  for (const { id, kind, call, names } of entries) {
    if (kind === undefined) continue;
    if (isCalled(kind)) {
      calls.set(id, { call: id, signal: names.mailbox?.signal, settled: false, started: false });
      last = id;
    }
    const about = calls.get(call ?? last ?? "");
    if (about === undefined) continue;
    if (isStarted(kind)) about.started = true;
    if (isReturned(kind)) about.settled = true;
  }
  return [...calls.values()];
}
