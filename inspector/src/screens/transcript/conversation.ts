/**
 * One branch as a conversation: what was said and done on the line of events behind it, in its order, made of the index alone. A call
 * and its result are one item; work inside a call follows it, indented, when it is opened.
 */
import type { Lineage } from "../../lineage/lineage.ts";

export type ItemType = "message" | "reply" | "effect" | "compression" | "divider" | "nested" | "note";

/** Where an item comes from: the branch itself, what it was forked from, or a branch whose result it took over. */
export type Origin = "own" | "inherited" | "adopted";

export interface Item {
  readonly type: ItemType;
  /** The event it begins with: a call, or what it is made of. Of nested work the fork. */
  readonly row: number;
  /** The result of a call; undefined as long as there is none. */
  readonly result: number | undefined;
  readonly depth: number;
  readonly origin: Origin;
  /** The first of those that come from another branch than the one before it. */
  readonly enters: boolean;
}

/** The rows behind a place, oldest first: of a merge the first parent, of an adopted result the branch that it was made on. */
export function lineBehind(lineage: Lineage, head: number, until = -1): number[] {
  const rows: number[] = [];
  for (let row: number | undefined = head; row !== undefined && row >= 0 && row !== until; row = lineage.parents(row)[0]) rows.push(row);
  return rows.reverse();
}

export function conversationOf(lineage: Lineage, branch: string, opened: ReadonlySet<number>): readonly Item[] {
  const head = lineage.newestOn(branch);
  if (head === undefined) return [];
  const nested = nestedUnder(lineage);
  const own = lineage.branchIndex(head);
  const line = lineBehind(lineage, head);
  const begins = line.findIndex((row) => lineage.branchIndex(row) === own);
  const items: Item[] = [];
  let before = own;
  const add = (rows: readonly number[], depth: number, originOf: (row: number, index: number) => Origin): void => {
    const results = resultsIn(lineage, rows);
    rows.forEach((row, index) => {
      const type = typeOf(lineage, row);
      if (type === undefined) return;
      const now = lineage.branchIndex(row);
      const origin = originOf(row, index);
      items.push({ type, row, result: results.get(row), depth, origin, enters: depth === 0 && origin !== "own" && now !== before });
      if (depth === 0) before = now;
      for (const fork of nested.get(row) ?? []) {
        items.push({ type: "nested", row: fork, result: undefined, depth: depth + 1, origin, enters: false });
        if (!opened.has(fork)) continue;
        const last = lineage.newestOn(lineage.branch(fork)) ?? fork;
        add(lineBehind(lineage, last, fork), depth + 2, () => origin);
      }
    });
  };
  add(line, 0, (row, index) => (lineage.branchIndex(row) === own ? "own" : begins < 0 || index < begins ? "inherited" : "adopted"));
  return items;
}

/** The results among some rows, by their calls. */
function resultsIn(lineage: Lineage, rows: readonly number[]): ReadonlyMap<number, number> {
  const results = new Map<number, number>();
  for (const row of rows) {
    if (!lineage.kind(row).endsWith(".returned")) continue;
    results.set(lineage.callBehind(row), row);
  }
  return results;
}

function typeOf(lineage: Lineage, row: number): ItemType | undefined {
  const kind = lineage.kind(row);
  switch (kind) {
    case "message.added":
      return "message";
    case "note.added":
    case "record.linked":
    case "placement.changed":
    case "agent.stopped":
    case "budget.crossed":
      return "note";
    case "model.called":
      return "reply";
    case "context.compressed":
      return "compression";
    case "session.created":
    case "session.forked":
    case "session.merged":
    case "session.rejected":
    case "session.detached":
    case "session.imported":
      return lineage.has(row, "nested") ? undefined : "divider";
    default:
      return kind.endsWith(".called") ? "effect" : undefined;
  }
}

interface Nested {
  upTo: number;
  readonly under: Map<number, number[]>;
}

const known = new WeakMap<Lineage, Nested>();

/** The forks of nested work, by the calls they are inside. Goes on where it was when it was last asked. */
function nestedUnder(lineage: Lineage): ReadonlyMap<number, readonly number[]> {
  const found = known.get(lineage) ?? { upTo: 0, under: new Map<number, number[]>() };
  known.set(lineage, found);
  for (; found.upTo < lineage.count; found.upTo++) {
    const row = found.upTo;
    if (!lineage.has(row, "nested")) continue;
    const call = callUnder(lineage, lineage.parents(row)[0] ?? -1);
    found.under.set(call, [...(found.under.get(call) ?? []), row]);
  }
  return found.under;
}

/** Nested work may begin at the start of its call. */
function callUnder(lineage: Lineage, row: number): number {
  let call = row;
  while (call >= 0 && lineage.kind(call).endsWith(".started")) call = lineage.call(call);
  return call;
}

/** The item that shows an event: the one that begins with it, or the last that begins before it. */
export function itemAt(items: readonly Item[], row: number): number {
  const exact = items.findIndex((item) => item.row === row || item.result === row);
  if (exact >= 0) return exact;
  let nearest = 0;
  items.forEach((item, index) => {
    if (item.depth === 0 && item.row <= row) nearest = index;
  });
  return nearest;
}
