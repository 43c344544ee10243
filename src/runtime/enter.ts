/** Workflows: entering and leaving are events, claimed in program order; the outermost one outside a run is a run of this process. */
import { RathError } from "../session/errors.ts";
import type { Context, Entering } from "../session/host.ts";
import { current, isAncestor, type Node } from "../session/log.ts";
import type { Session } from "../session/session.ts";
import { placeOf, SessionValue } from "../session/value.ts";
import { budgetOf } from "./budget.ts";
import { Execution } from "./execution.ts";
import { type Ending, finish } from "./finish.ts";
import { inside, type Services } from "./services.ts";

interface Standing {
  readonly node: Node;
  readonly context: Context;
  readonly execution: Execution;
}

export function enter(
  runtime: Services,
  standing: Standing,
  workflow: object,
  forward: (session: Session) => Promise<Session>,
  how: Entering,
): Promise<Session> {
  const name = runtime.nameOf(workflow, standing.context.workflow);
  const { node, context } = standing;
  const outermost = standing.execution.mode === "effects" && "run" in context.scope;
  const entering = { ...how, name, workflow, forward };
  if (!outermost) return within(standing.execution, standing.node, context, entering);
  const execution = new Execution(runtime, runtime.platform.newId(), "bare");
  runtime.watch(execution);
  execution.begin(node, { workflow: name, bare: true });
  const unwatch = how.watch === undefined ? undefined : execution.watch(by(name, how.watch));
  const inner: Context = { host: context.host, execution, scope: execution.scope, by: "" };
  const result = inside.run({ execution, scope: execution.scope }, () => within(execution, node, inner, { ...entering, watch: undefined }));
  const concluded = conclude(runtime, execution, result, context.by);
  return unwatch === undefined ? concluded : concluded.finally(unwatch);
}

interface Entered extends Entering {
  readonly name: string;
  readonly workflow: object;
  readonly forward: (session: Session) => Promise<Session>;
}

/** Enters, calls `forward`, leaves. The entering is linked before this returns. */
function within(execution: Execution, node: Node, context: Context, { name, workflow, forward, ...how }: Entered): Promise<Session> {
  const path = context.by === "" ? name : `${context.by}/${name}`;
  const data = context.by === "" ? { name, run: execution.id } : { name };
  const entered = execution.add(node, context.scope, "workflow.entered", data, path);
  const unwatch = how.watch === undefined ? undefined : execution.watch(by(path, under(execution, entered, how.watch)));
  const inner = new SessionValue(entered, {
    ...context,
    by: path,
    workflow,
    ...fenced(context, how, name),
    ...stopping(context, how),
    ...limited(execution, context, how, entered, path),
  });
  // Also a `forward` that is not async and throws at once must end what was begun.
  const { telemetry } = execution.runtime;
  const work = async (): Promise<Session> => forward(inner);
  const left = (telemetry === undefined || execution.mode === "replay" ? work() : telemetry.workflow(entered, work)).then((returned) => {
    const place = placeOfReturned(returned, execution, name);
    // Leaving names the entering: where nothing that is written stands on it, it would be made again under another id.
    if (!isAncestor(current(entered), current(place))) execution.record(current(entered));
    const left = execution.add(place, context.scope, "workflow.left", { entered: current(entered).id }, path);
    if (unwatch !== undefined) execution.record(left);
    return new SessionValue(left, context);
  });
  return unwatch === undefined ? left : left.finally(unwatch);
}

type Watch = NonNullable<Entering["watch"]>;

/** Only what is done by a workflow and those inside it. */
function by(path: string, watch: Watch): Watch {
  return (part) => {
    if (part.by === path || part.by.startsWith(`${path}/`)) watch(part);
  };
}

/** Only what happens on the branch that was entered and on those that begin there: the same workflow may be at work on others. */
function under(execution: Execution, entered: Node, watch: Watch): Watch {
  const before = (execution.recorded?.events ?? []).filter((node) => isAncestor(entered, node));
  const events = new Set([entered, ...before].map(({ id }) => id));
  const sessions = new Set(before.map(({ log }) => log.id));
  return (part) => {
    sessions.add(current(entered).log.id);
    if (part.type === "event") {
      const { id, kind, session, parents, data } = part.event;
      const from = kind === "session.detached" ? [data.from.head] : parents;
      if (!sessions.has(session) && !from.some((parent) => events.has(parent))) return;
      events.add(id);
      sessions.add(session);
    } else if (!sessions.has(part.session)) return;
    watch(part);
  };
}

/** A fence inside another one is the same fence. */
function fenced({ memory }: Context, how: Entering, name: string): Pick<Context, "memory"> {
  if (how.memory === undefined) return {};
  if (memory !== undefined && memory !== how.memory)
    throw new RathError(
      "route.invalid",
      `The route to "${name}" names memory of scope "${how.memory}", but the work around it is limited to "${memory}": name that, or none.`,
    );
  return { memory: how.memory };
}

function stopping({ signal }: Context, how: Entering): { readonly signal?: AbortSignal } {
  if (how.signal === undefined) return {};
  return { signal: signal === undefined ? how.signal : AbortSignal.any([signal, how.signal]) };
}

function limited(execution: Execution, { budgets = [] }: Context, how: Entering, entered: Node, by: string): Pick<Context, "budgets"> {
  if (how.limits === undefined) return {};
  // Entering has its parent's time, which is older than the run where the run has done nothing yet.
  const [since = entered.at] = [entered.at, execution.log.first?.at ?? ""].sort().reverse();
  return { budgets: [...budgets, budgetOf(execution, how.limits, since, by)] };
}

function placeOfReturned(returned: unknown, execution: Execution, name: string): Node {
  if (typeof returned !== "object" || returned === null)
    throw new RathError(
      "workflow.invalid",
      `Workflow "${name}" returned ${String(returned)} instead of a Session: return the last value you made.`,
    );
  const { node, context } = placeOf(returned as Session);
  if (context.execution !== execution)
    throw new RathError(
      "workflow.invalid",
      `Workflow "${name}" returned a session of another run: return one made from the session it was given.`,
    );
  return node;
}

/** Exactly one verdict is written; if that fails, its error is what the caller gets. */
export async function conclude(runtime: Services, execution: Execution, result: Promise<Session>, by: string): Promise<Session> {
  let left: Node;
  try {
    left = placeOf(await result).node;
  } catch (error) {
    if (!execution.closed) await end(execution, { status: "failed", error }).catch(() => {});
    throw RathError.is(error) && error.session !== undefined ? outsideError(runtime, error, by) : error;
  }
  return runtime.outside(await end(execution, { status: "done", node: left }), by);
}

async function end(execution: Execution, ending: Ending): Promise<Node> {
  try {
    return await finish(execution, ending);
  } finally {
    execution.close();
  }
}

/** After the run its values are ordinary ones again. */
export function outsideError(runtime: Services, error: RathError, by: string): RathError {
  const place = placeOf(error.session as Session);
  return new RathError(error.code, error.message, {
    cause: error.cause ?? error,
    retryable: error.retryable,
    details: error.details,
    session: runtime.outside(place.node, by),
  });
}
