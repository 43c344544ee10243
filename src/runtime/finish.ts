/** The end of a run: open effects are closed, the result gets the id the run was given, and a signed statement is written with `run.ended`. */

import { RathError } from "../session/errors.ts";
import { stateOf } from "../session/fold.ts";
import { current, type Node } from "../session/log.ts";
import { textOfThrown } from "../session/thrown.ts";
import type { RunRow } from "../store/store.ts";
import { closeCalls } from "./close-calls.ts";
import { closedBefore } from "./closed.ts";
import type { Execution, Open } from "./execution.ts";
import { assertHeld } from "./lease.ts";
import { adopt } from "./merge.ts";
import type { Published } from "./publish.ts";

export type Ending =
  | { readonly status: "done"; readonly node: Node }
  /** `midway`: its program had not come to an end. */
  | { readonly status: "failed"; readonly error: unknown; readonly midway?: true }
  /** `compensate` queues the run that makes it good, before it is marked: a crash between the two queues the same one again. */
  | { readonly status: "cancelled"; readonly reason: string; readonly compensate?: ((place: Node) => Promise<void>) | undefined };

/** Returns the place the run has come to. Everything is on disk then. */
export async function finish(execution: Execution, ending: Ending, row?: RunRow): Promise<Node> {
  // Whoever ends a run midway ends what was stopped in it as well.
  if (ending.status === "done" || (ending.status === "failed" && ending.midway !== true)) await othersEnd(execution);
  execution.ending = true;
  const key = await execution.runtime.key();
  await closeOpen(
    execution,
    ending.status === "done" ? "the run ended" : ending.status === "failed" ? "the run failed" : "the run was cancelled",
  );
  await execution.runtime.closeSandboxes(execution, "the run ended");
  if (ending.status === "cancelled" && ending.compensate !== undefined && execution.newest !== undefined) {
    await execution.writer.flush();
    await ending.compensate(execution.newest);
  }
  const published = ending.status === "done" ? await publish(execution, ending.node) : undefined;
  const place = await execution.sayLast(() => {
    // Nothing of it would be written but its row.
    if (execution.closed) throw execution.lost ?? closedBefore(`run ${execution.id}`, "ended");
    const result = ending.status === "done" ? adopt(execution, current(ending.node), ending.node.by) : undefined;
    if (result !== undefined) execution.record(result);
    if (published !== undefined) execution.journal("memory.published", published);
    const ended = execution.journal("run.ended", verdict(ending, result));
    const at = result ?? execution.newest ?? ended;
    execution.signer.state(key, at, "final");
    if (row !== undefined) execution.writer.setRow({ ...row, status: ending.status, wakeAt: undefined }, true);
    return at;
  });
  execution.close();
  return current(place);
}

/** What it remembered goes to all when it is on disk: a run that is interrupted now publishes the same again, which is once. */
async function publish(execution: Execution, node: Node): Promise<Published | undefined> {
  if (stateOf(current(node)).writes === undefined) return undefined;
  execution.record(current(node));
  await execution.writer.flush();
  // Memory knows no epochs: who was taken over meanwhile must not speak for a run that may have ended otherwise.
  await assertHeld(execution);
  return execution.runtime.publishMemory(execution, current(node));
}

function verdict(ending: Ending, result: Node | undefined): object {
  switch (ending.status) {
    case "cancelled":
      return { status: "cancelled", reason: ending.reason };
    case "failed": {
      const { error } = ending;
      return {
        status: "failed",
        message: textOfThrown(error),
        ...(RathError.is(error) ? { code: error.code } : {}),
      };
    }
    case "done":
      return result === undefined ? { status: "done" } : { status: "done", result: { session: result.log.id, head: result.id } };
  }
}

/** What was stopped before says what became of it, and its frames hear of that. */
async function othersEnd({ beside, scope, open, runtime }: Execution): Promise<void> {
  const until = performance.now() + runtime.times.closeMs;
  await beside.ended(scope, () => performance.now() < until && [...open].some((effect) => !isHarmless(effect)));
}

/** Effects that may be repeated are cancelled at once; the others get a moment to say what became of them, else they are unknown. */
async function closeOpen(execution: Execution, reason: string): Promise<void> {
  for (const open of execution.open) {
    open.abort(reason);
    if (isHarmless(open)) end(execution, open, "cancelled", reason);
  }
  const until = performance.now() + execution.runtime.times.closeMs;
  while (execution.open.size > 0 && !execution.closed && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 5));
  for (const open of execution.open) end(execution, open, "unknown", reason);
  // What was open on record and the program has not come to again is waited for by nobody.
  closeCalls(execution, execution.recorded?.unclaimed ?? [], reason);
}

function end(execution: Execution, open: Open, outcome: "cancelled" | "unknown", reason: string): void {
  open.close(outcome, reason);
  execution.open.delete(open);
}

function isHarmless({ waiting, effect: { run, repeat } }: Open): boolean {
  return waiting || run === undefined || repeat === "safe" || repeat === "nested";
}
