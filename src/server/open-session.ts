/** Sessions as a caller opens and continues them: what they add is recorded as done by them. */
import { heedErasures } from "../runtime/heed-erasures.ts";
import { RathError } from "../session/errors.ts";
import type { Node } from "../session/log.ts";
import type { Session } from "../session/session.ts";
import { placeOf } from "../session/value.ts";
import { inTurn } from "./in-turn.ts";
import { keepRecent } from "./recent.ts";
import type { Call } from "./route.ts";

type Calling = Pick<Call, "rath" | "runtime" | "caller">;

/** A session by its id, the beginning of it, or ID@place; `at` is a step or an event. */
export async function openSession({ rath, runtime, caller }: Calling, id: string, at?: string): Promise<Session> {
  await heedErasures(runtime);
  const session = await rath.open(id);
  keepRecent(runtime, placeOf(session).node);
  const place = at === undefined ? session : session.at(placeIn(at));
  return runtime.outside(placeOf(place).node, caller.identity);
}

/** Nine digits and fewer are a step, more are the beginning of an id. */
function placeIn(at: string): number | string {
  return /^\d{1,9}$/.test(at) ? Number(at) : at;
}

/**
 * Continues a session at its newest event. Callers of this server continue one session one after the other. Where somebody else is at
 * work on it, a run or another process, what is added here goes on as an implicit fork: the value that comes back has another id
 * then. With `ifHead` it is refused instead, whenever anything came after that event.
 */
export async function continueSession(
  call: Calling,
  id: string,
  ifHead: string | undefined,
  verb: (session: Session) => Session | Promise<Session>,
): Promise<Session> {
  const { id: whole } = await call.rath.open(id);
  return inTurn(call.runtime, whole, () => continued(call, whole, ifHead, verb));
}

async function continued(
  call: Calling,
  id: string,
  ifHead: string | undefined,
  verb: (session: Session) => Session | Promise<Session>,
): Promise<Session> {
  const session = await openSession(call, id);
  if (ifHead !== undefined && (session.head !== ifHead || !isFree(placeOf(session).node))) throw moved(session, ifHead);
  const saved = await saveSession(call, await verb(session));
  if (ifHead === undefined || saved.id === session.id) return saved;
  // Another process was faster by a moment. What was added is a branch now, which nobody asked for.
  await saveSession(call, saved.reject("the session was continued by somebody else first"));
  throw moved(await openSession(call, id), ifHead);
}

/** Stores what was added; where its session was continued elsewhere meanwhile, it lies on a fork of it. */
export async function saveSession({ rath, runtime, caller }: Calling, session: Session): Promise<Session> {
  await rath.save(session);
  return runtime.outside(placeOf(session).node, caller.identity);
}

/** Nobody of this process is at work on it. */
function isFree(node: Node): boolean {
  return node.log.tip === node && node.log.owner === undefined && node.log.open === 0;
}

function moved({ id, head, step }: Session, ifHead: string): RathError {
  const why = head === ifHead ? "a run is at work on it" : `its head is ${head} (step ${step}) now`;
  return new RathError("store.conflict", `Session ${id} was not continued at ${ifHead}: ${why}. Read it again, or leave out ifHead.`, {
    details: { session: id, head, step, ifHead },
  });
}
