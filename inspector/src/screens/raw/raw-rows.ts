/** Which rows of the lineage are shown. */
import type { Lineage } from "../../lineage/lineage.ts";

export interface RawFilter {
  readonly kind: string | undefined;
  readonly by: string | undefined;
  readonly branch: string | undefined;
  /** Events that hold a text that is looked for. */
  readonly found: ReadonlySet<string> | undefined;
}

/** `before`: what the same filter gave when the lineage had fewer rows; the rest is not looked at again. */
export function rowsOf(lineage: Lineage, { kind, by, branch, found }: RawFilter, before?: RawRows): RawRows {
  const rows = [...(before?.rows ?? [])];
  for (let row = before?.count ?? 0; row < lineage.count; row++) {
    if (kind !== undefined && !isOfKind(lineage.kind(row), kind)) continue;
    if (by !== undefined && !isBy(lineage.by(row), by)) continue;
    if (branch !== undefined && lineage.branch(row) !== branch) continue;
    if (found !== undefined && !found.has(lineage.id(row))) continue;
    rows.push(row);
  }
  return { rows, count: lineage.count };
}

export interface RawRows {
  readonly rows: readonly number[];
  /** How many rows of the lineage were looked at. */
  readonly count: number;
}

/** "tool" stands for tool.called, tool.started and tool.returned. */
function isOfKind(kind: string, wanted: string): boolean {
  return kind === wanted || kind.startsWith(`${wanted}.`);
}

/** An agent stands for those inside it. */
function isBy(by: string, wanted: string): boolean {
  return by === wanted || by.startsWith(`${wanted}/`);
}

export interface Choices {
  readonly kinds: readonly string[];
  readonly writers: readonly string[];
}

/** What there is to choose among. */
export function choicesIn(lineage: Lineage): Choices {
  return { kinds: lineage.kinds.toSorted(), writers: lineage.writers.toSorted() };
}
