/** The events of one branch, from the first of all on: what it wrote itself, and before that what it continues. */
import type { Lineage } from "./lineage.ts";

interface Known {
  readonly newest: number;
  readonly rows: readonly number[];
}

const known = new WeakMap<Lineage, Map<string, Known>>();

export function branchRows(lineage: Lineage, branch: string): readonly number[] {
  const newest = lineage.newestOn(branch) ?? -1;
  const ofLineage = known.get(lineage) ?? new Map<string, Known>();
  known.set(lineage, ofLineage);
  const before = ofLineage.get(branch);
  if (before?.newest === newest) return before.rows;
  // What was added goes back to what was known: the rest is not walked again.
  const added: number[] = [];
  let row = newest;
  while (row >= 0 && row !== before?.newest) {
    added.push(row);
    row = lineage.parents(row)[0] ?? -1;
  }
  const rows = row >= 0 && before !== undefined ? [...before.rows, ...added.reverse()] : added.reverse();
  ofLineage.set(branch, { newest, rows });
  return rows;
}

/**
 * Something made of the events of a branch, one after the other. What was made of the first ones stays true: only what was added since
 * is read.
 */
export function madeOfBranch<Made>(
  begin: () => Made,
  read: (made: Made, lineage: Lineage, row: number, place: number) => void,
): (lineage: Lineage, branch: string) => Made {
  const kept = new WeakMap<Lineage, Map<string, { readonly made: Made; readonly rows: readonly number[] }>>();
  return (lineage, branch) => {
    const rows = branchRows(lineage, branch);
    const ofLineage = kept.get(lineage) ?? new Map();
    kept.set(lineage, ofLineage);
    const before = ofLineage.get(branch);
    // A branch that was cut off and came back with more may be another line.
    const goesOn = before !== undefined && before.rows.at(-1) === rows[before.rows.length - 1];
    const made: Made = goesOn ? before.made : begin();
    for (let place = goesOn ? before.rows.length : 0; place < rows.length; place++) read(made, lineage, rows[place] as number, place);
    ofLineage.set(branch, { made, rows });
    return made;
  };
}

/** Where an event is among the rows of a branch; -1 when it is not. Parents come first: rows go up. */
export function placeAmong(rows: readonly number[], row: number): number {
  let [low, high] = [0, rows.length - 1];
  while (low <= high) {
    const middle = (low + high) >>> 1;
    const found = rows[middle] as number;
    if (found === row) return middle;
    if (found < row) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}

/** How an address that shows a branch names the branch of an event: the same one where it has the event; nothing for the session's. */
export function branchWith(lineage: Lineage, shown: string | undefined, row: number | undefined): string | undefined {
  if (row === undefined) return shown;
  if (placeAmong(branchRows(lineage, shown ?? lineage.session), row) >= 0) return shown;
  const branch = lineage.branch(row);
  return branch === lineage.session ? undefined : branch;
}
