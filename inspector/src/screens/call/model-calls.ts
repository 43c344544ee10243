/** The model calls on a branch, and the one that a place means. */
import { madeOfBranch } from "../../lineage/branch-rows.ts";
import type { Lineage } from "../../lineage/lineage.ts";

export interface ModelCall {
  readonly call: number;
  /** Undefined as long as nothing was replied. */
  readonly result: number | undefined;
}

const callsOf = madeOfBranch(
  () => ({ calls: [] as ModelCall[], places: new Map<number, number>() }),
  ({ calls, places }, lineage, row) => {
    if (lineage.kind(row) === "model.called") places.set(row, calls.push({ call: row, result: undefined }) - 1);
    if (lineage.kind(row) !== "model.returned") return;
    const call = lineage.callBehind(row);
    const place = places.get(call);
    if (place !== undefined) calls[place] = { call, result: row };
  },
);

/** Those on the line of a branch. */
export function modelCallsOn(lineage: Lineage, branch: string): readonly ModelCall[] {
  return [...callsOf(lineage, branch).calls];
}

/** The newest call up to a place; without a place the newest of all, and where none is before it the first. */
export function callAt(lineage: Lineage, calls: readonly ModelCall[], row: number | undefined): number {
  if (row === undefined) return calls.length - 1;
  const step = lineage.step(row);
  const found = calls.findLastIndex(({ call, result }) => call === row || result === row || lineage.step(call) <= step);
  return found < 0 && calls.length > 0 ? 0 : found;
}
