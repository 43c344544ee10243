/**
 * Recorded work that a run does not ask for again, since somebody let it go on with other code. It stays on record on its branch, equal
 * requests take its results, and its calls are closed; whoever executes the run later does not ask for it either.
 */
import { isReturned } from "../session/event.ts";
import { callOf } from "../session/fold.ts";
import type { Node } from "../session/log.ts";
import { closeCalls } from "./close-calls.ts";
import type { Execution } from "./execution.ts";
import { spentOn } from "./recorded.ts";
import { Reuse } from "./reuse.ts";
import type { RunRecord } from "./run-record.ts";

/** Everything that was recorded and not asked for. A result that the program waits for comes when it is its turn. */
export function leaveBehind(execution: Execution): void {
  const { recorded } = execution;
  const left = (recorded?.unclaimed ?? []).filter((node) => !isReturned(node.kind) || recorded?.stateOf(callOf(node)) !== "asked");
  // First of all: whatever is written after it must find it on record.
  execution.journal("run.forked", { left: rangesOf(left) });
  closeCalls(execution, left, "the run goes on with other code");
  letGo(execution, left);
}

/** What was left behind by those who executed the run before, and the results that closed it. */
export function leaveAgain(execution: Execution, { journal, program }: RunRecord): void {
  const { platform } = execution.runtime;
  const ranges = journal.flatMap((node) => (node.kind === "run.forked" ? node.data<"run.forked">(platform).left : []));
  if (ranges.length === 0) return;
  const left = new Set(program.filter(({ order }) => ranges.some(([from, to]) => from <= order && order <= to)));
  letGo(
    execution,
    program.filter((node) => left.has(node) || (node.facts.closed === true && left.has(callOf(node)))),
  );
}

function letGo(execution: Execution, left: readonly Node[]): void {
  const { recorded, runtime } = execution;
  execution.left = [...execution.left, ...left];
  const taken = new Set(recorded?.events.flatMap(({ facts }) => facts.source ?? []));
  // A replay does nothing that could be reused.
  if (execution.mode !== "replay") execution.reuse = new Reuse(runtime, execution.left, { effects: "ask", doubts: true, taken });
  for (const node of left) recorded?.claim(node);
  countLeft(execution, left);
}

/** What was left behind was spent all the same: the limits of the run count it. */
export function countLeft({ budget }: Execution, left: readonly Node[]): void {
  if (budget !== undefined) for (const spent of left.flatMap(spentOn)) budget.count(spent);
}

/** Numbers of a run's order, as stretches without a gap. */
function rangesOf(nodes: readonly Node[]): [number, number][] {
  const ranges: [number, number][] = [];
  for (const { order } of [...nodes].sort((a, b) => a.order - b.order)) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === order - 1) last[1] = order;
    else ranges.push([order, order]);
  }
  return ranges;
}
