/** The model calls on a branch, and the one that a place means. */
import { branchRows } from "../../lineage/branch-rows.ts";
import type { Lineage } from "../../lineage/lineage.ts";
import { resultsIn } from "../transcript/conversation.ts";

export interface ModelCall {
  readonly call: number;
  /** Undefined as long as nothing was replied. */
  readonly result: number | undefined;
}

/** Those on the line of a branch. */
export function modelCallsOn(lineage: Lineage, branch: string): readonly ModelCall[] {
  const line = branchRows(lineage, branch);
  const results = resultsIn(lineage, line);
  return line.filter((row) => lineage.kind(row) === "model.called").map((call) => ({ call, result: results.get(call) }));
}

/** The newest call up to a place; without a place the newest of all, and where none is before it the first. */
export function callAt(lineage: Lineage, calls: readonly ModelCall[], row: number | undefined): number {
  if (row === undefined) return calls.length - 1;
  const step = lineage.step(row);
  const found = calls.findLastIndex(({ call, result }) => call === row || result === row || lineage.step(call) <= step);
  return found < 0 && calls.length > 0 ? 0 : found;
}
