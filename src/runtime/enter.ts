/** Workflows: entering and leaving are events, claimed in program order; the outermost one outside a run is a run of this process. */
import { RathError } from "../session/errors.ts";
import type { Context } from "../session/host.ts";
import { current, type Node } from "../session/log.ts";
import type { Session } from "../session/session.ts";
import { placeOf, SessionValue } from "../session/value.ts";
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
): Promise<Session> {
  const name = runtime.nameOf(workflow);
  const { node, context } = standing;
  const outermost = standing.execution.mode === "effects" && "run" in context.scope;
  if (!outermost) return within(standing.execution, standing.node, context, name, forward);
  const execution = new Execution(runtime, runtime.platform.newId(), "bare");
  runtime.watch(execution);
  execution.journal("run.started", { workflow: name, input: { session: node.log.id, head: node.id }, bare: true });
  const inner: Context = { ...context, execution, scope: execution.scope, by: "" };
  const result = inside.run({ execution, scope: execution.scope }, () => within(execution, node, inner, name, forward));
  return conclude(runtime, execution, result, context.by);
}

/** Enters, calls `forward`, leaves. The entering is linked before this returns. */
function within(
  execution: Execution,
  node: Node,
  context: Context,
  name: string,
  forward: (session: Session) => Promise<Session>,
): Promise<Session> {
  const by = context.by === "" ? name : `${context.by}/${name}`;
  const data = context.by === "" ? { name, run: execution.id } : { name };
  const entered = execution.add(node, context.scope, "workflow.entered", data, by);
  const inner = new SessionValue(entered, { ...context, by });
  // Also a `forward` that is not async and throws at once must end what was begun.
  return (async () => forward(inner))().then((returned) => {
    const place = placeOfReturned(returned, execution, name);
    const left = execution.add(place, context.scope, "workflow.left", { entered: current(entered).id }, by);
    return new SessionValue(left, context);
  });
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
