/** Workflows made of workflows and plain functions. */
import { RathError } from "../session/errors.ts";
import { kindOf, shown } from "../session/given.ts";
import type { Session } from "../session/session.ts";
import { placeOf, SessionValue } from "../session/value.ts";
import { leaveUnnamed } from "./children.ts";
import { Workflow } from "./workflow.ts";

/** A workflow, or a function of a session. */
export type Flow<Output = unknown> =
  | (Workflow & { forward(session: Session): Promise<Session<Output>> })
  | ((session: Session) => Session<Output> | Promise<Session<Output>>);
/** A workflow made of others. */
export interface Composed<Output> extends Workflow {
  forward(session: Session): Promise<Session<Output>>;
}

/**
 * One after the other.
 *
 * @example
 * const fix = sequence(planner, (session) => session.say("Go on."), coder);
 */
export function sequence<Output>(...flows: readonly [...Flow[], Flow<Output>]): Composed<Output> {
  return composed("sequence", flows, async (session) => {
    let at = session;
    for (const flow of flows) at = await step(flow, at);
    return at as Session<Output>;
  });
}

/**
 * Each on a fork of its own, named by its key, all at once; `join` makes one session of them. When one fails, the others are stopped,
 * and it fails with them.
 *
 * @example
 * const both = parallel({ small: coder, thorough: coder.with({ instructions: "Fix the cause." }) }, best);
 */
export function parallel<Output, Joined>(
  flows: Readonly<Record<string, Flow<Output>>>,
  join: (branches: readonly Session<Output>[]) => Promise<Session<Joined>>,
): Composed<Joined> {
  if (typeof join !== "function")
    throw new RathError(
      "workflow.invalid",
      "parallel needs a second argument that makes one session of its branches: best, or a function of them.",
    );
  return composed("parallel", flows, async (session) => {
    const stops = new Set<AbortController>();
    const branches = Object.entries(flows).map(async ([label, flow]) => {
      const stop = new AbortController();
      stops.add(stop);
      try {
        return (await step(flow, stoppable(session.fork(label), stop.signal))) as Session<Output>;
      } catch (error) {
        // Whoever catches it may go on with the session it carries.
        stops.delete(stop);
        throw error;
      }
    });
    try {
      await Promise.all(branches);
    } catch (error) {
      for (const stop of stops) stop.abort(new Error("a branch beside it failed"));
      placeOf(session).context.host.beside(session, Promise.allSettled(branches));
      throw error;
    }
    return join(await Promise.all(branches));
  });
}

/**
 * Each on a fork of its own; the first that comes through wins, the others are stopped and, when they come to their end, rejected. The
 * winner waits for none of them, only the end of the run or effect around it does, for a moment: the branch of one that never ends
 * stays as it is. Fails when all fail.
 *
 * @example
 * const quickest = race({ fast: sketcher, careful: thinker });
 */
export function race<Output>(flows: Readonly<Record<string, Flow<Output>>>): Composed<Output> {
  if (Object.keys((flows ?? [flows]) as object).length === 0)
    throw new RathError("workflow.invalid", "race was given no branches: give it at least one, by name.");
  return composed("race", flows, async (session) => {
    const { host } = placeOf(session).context;
    const stops = new Map<string, AbortController>();
    const running = Object.entries(flows).map(async ([label, flow]) => {
      const stop = new AbortController();
      stops.set(label, stop);
      const ended = await host.enter(session.fork(label), { name: label }, (inner) => step(flow, inner), { signal: stop.signal });
      const cut = ended.stop;
      if (cut !== undefined && cut !== "finished")
        throw new RathError("effect.failed", `"${label}" stopped as "${cut}"`, { session: ended });
      return { label, ended };
    });
    try {
      const { label, ended } = await Promise.any(running);
      const reason = `"${label}" was first`;
      for (const [other, stop] of stops) if (other !== label) stop.abort(new Error(reason));
      const losers = Object.keys(flows).flatMap((other, index) => (other === label ? [] : [lost(running[index], reason)]));
      // Waiting for those that end soon would let time decide when the winner comes: a replay could not do the same.
      host.beside(session, Promise.allSettled(losers));
      return ended as Session<Output>;
    } catch (error) {
      if (error instanceof AggregateError) throw error.errors.at(-1);
      throw error;
    }
  });
}

/** The same value; what is done with it ends when somebody says so. */
function stoppable(session: Session, stop: AbortSignal): Session {
  const { node, context } = placeOf(session);
  const signal = context.signal === undefined ? stop : AbortSignal.any([context.signal, stop]);
  return new SessionValue(node, { ...context, signal });
}

/** A branch that lost says so, when it comes to its end. */
async function lost(running: Promise<{ readonly ended: Session }> | undefined, reason: string): Promise<void> {
  try {
    (await running)?.ended.reject(reason);
  } catch (error) {
    if (RathError.is(error)) error.session?.reject(reason);
  }
}

/**
 * Again and again until a condition holds, `max` times at most.
 *
 * @example
 * const until = loop(coder, { until: (session) => session.checks.at(-1)?.passed === true, max: 5 });
 */
export function loop<Output>(
  flow: Flow<Output>,
  options: { readonly until: (session: Session<Output>) => boolean; readonly max: number },
): Composed<Output> {
  const { until, max } = (options ?? {}) as Partial<typeof options>;
  if (!(Number.isInteger(max) && (max as number) >= 1))
    throw new RathError("workflow.invalid", `loop needs a whole number of turns from 1, got max: ${String(max)}.`);
  if (typeof until !== "function")
    throw new RathError("workflow.invalid", "loop needs until: a function that says of a session whether it is done.");
  return composed("loop", [flow], async (session) => {
    let at = (await step(flow, session)) as Session<Output>;
    for (let turn = 1; turn < options.max && !isDone(options.until(at), at); turn++) at = (await step(flow, at)) as Session<Output>;
    return at;
  });
}

/** Whoever says neither yes nor no would end it, or never. */
function isDone(said: unknown, session: Session): boolean {
  if (typeof said === "boolean") return said;
  throw new RathError("workflow.invalid", `until of loop gave ${answerOf(said)}: give a boolean${soon(said)}.`, { session });
}

/**
 * Chooses one branch and rejects the others, recorded on each. By default one whose agent stopped short comes last; then the newest
 * check decides: passed before failed, the higher score, then the cheaper branch. `by` gives another order, highest first.
 *
 * @example
 * const winner = await best(tries, (session) => session.checks.at(-1)?.score ?? 0);
 */
export async function best<Output>(
  branches: readonly Session<Output>[],
  by?: (session: Session<Output>) => number,
): Promise<Session<Output>> {
  if (!Array.isArray(branches))
    throw new RathError("workflow.invalid", `best needs a list of branches, got ${answerOf(branches)}: write best([a, b]).`);
  for (const branch of branches) placeOf(branch);
  if (by !== undefined && typeof by !== "function")
    throw new RathError(
      "workflow.invalid",
      `by of best is ${kindOf(by)}: give a function of a session that gives a number, as in best(branches, by).`,
    );
  const [first] = branches as readonly Session<Output>[];
  if (first === undefined) throw new RathError("workflow.invalid", "best was given no branches: give it at least one session.");
  const ranked = branches.map((branch, index) => ({
    branch,
    index,
    rank: by === undefined ? rankOf(branch) : [numberOf(by(branch), branch)],
  }));
  const order = ranked.toSorted((a, b) => compare(b.rank, a.rank) || a.index - b.index);
  const winner = order[0]?.branch ?? first;
  const reason = `${nameOf(winner)} was better`;
  const { host, execution } = placeOf(winner).context;
  for (const { branch } of order.slice(1)) {
    if (branch.head === winner.head) continue;
    const rejected = branch.reject(why(branch, reason));
    // Inside a run it is written with the next commit; outside nobody else would.
    if ((execution as { readonly mode?: string }).mode === "effects") await host.save(rejected);
  }
  return winner;
}

/** What cannot be compared would leave the order to chance. */
function numberOf(said: unknown, session: Session): number {
  if (typeof said === "number" && !Number.isNaN(said)) return said;
  throw new RathError("workflow.invalid", `by of best gave ${answerOf(said)}: give a number${soon(said)}.`, { session });
}

function answerOf(said: unknown): string {
  return said instanceof Promise ? "a Promise" : shown(said);
}

function soon(said: unknown): string {
  if (!(said instanceof Promise)) return "";
  said.catch(() => {}); // nobody waits for what it comes to
  return ", it cannot be async";
}

function rankOf(branch: Session): readonly number[] {
  const check = branch.checks.at(-1);
  const finished = branch.stop === undefined || branch.stop === "finished" ? 1 : 0;
  return [finished, check === undefined ? 0 : check.passed ? 1 : -1, check?.score ?? 0, -branch.usage.own.usd];
}

function compare(a: readonly number[], b: readonly number[]): number {
  for (const [index, value] of a.entries()) if (value !== b[index]) return value - (b[index] ?? 0);
  return 0;
}

function why(branch: Session, reason: string): string {
  const check = branch.checks.at(-1);
  return check === undefined || check.passed
    ? reason
    : `${reason}; "${check.name}" failed${check.reason === undefined ? "" : `: ${check.reason}`}`;
}

/** Never by its id: a fork of what is not written has another one when the program is executed again, and would be another reason. */
function nameOf({ lineage: { label } }: Session): string {
  return label === undefined ? "another branch" : `"${label}"`;
}

async function step(flow: Flow, session: Session): Promise<Session> {
  const next = typeof flow === "function" ? await flow(session) : await flow.forward(session);
  if (!(next instanceof SessionValue))
    throw new RathError(
      "workflow.invalid",
      `A function in a composition returned ${String(next)} instead of a Session: return the value it made.`,
      { session },
    );
  return next;
}

/** Its parts are properties, so that they are found like those of any workflow. */
class Composition extends Workflow {
  readonly name: string;
  readonly step: unknown;
  readonly #forward: (session: Session) => Promise<Session>;

  constructor(name: string, flows: unknown, forward: (session: Session) => Promise<Session>) {
    super();
    this.name = name;
    this.step = flows;
    this.#forward = forward;
    leaveUnnamed(this);
  }

  forward(session: Session): Promise<Session> {
    return this.#forward(session);
  }
}

function composed<Output>(name: string, flows: unknown, forward: (session: Session) => Promise<Session<Output>>): Composed<Output> {
  for (const flow of Object.values((flows ?? [flows]) as object))
    if (typeof flow !== "function" && !(flow instanceof Workflow))
      throw new RathError("workflow.invalid", `${name} was given ${String(flow)}: give workflows, or functions of a session.`);
  return new Composition(name, flows, forward) as Workflow as Composed<Output>;
}
