/** All events of a lineage as columns: what screens draw, list and add up before they read what a single event says. */
import type { OutcomeType } from "../session/event.ts";
import { type Node, placesBefore } from "../session/log.ts";
import type { Platform } from "../session/platform.ts";
import type { LineageIndex } from "../wire/api/lineage.ts";

type Columns = Pick<
  LineageIndex,
  "branch" | "kind" | "by" | "step" | "at" | "parents" | "marks" | "outcomes" | "calls" | "retried" | "spent"
>;

/** A call that took so much longer than its work may have waited for somebody. What others say is not read for this. */
const waitedMs = 20;

/** Events come parents first. */
export function columnsOf(nodes: readonly Node[], platform: Platform): Omit<LineageIndex, "session" | "head" | "cursor" | "cut"> {
  const rowOf = new Map<string, number>();
  const [sessions, kinds, writers] = [new Names(), new Names(), new Names()];
  const columns: Columns = {
    ...{ branch: [], kind: [], by: [], step: [], at: [], parents: [] },
    ...{ marks: { row: [], mark: [] }, outcomes: { row: [], outcome: [] }, calls: { row: [], call: [] } },
    retried: { row: [], attempts: [] },
    spent: { row: [], ms: [], input: [], output: [], usd: [] },
  };
  let before = 0;
  for (const [row, node] of nodes.entries()) {
    rowOf.set(node.id, row);
    columns.branch.push(sessions.of(node.log.id));
    columns.kind.push(kinds.of(node.kind));
    columns.by.push(writers.of(node.by));
    columns.step.push(node.step);
    const at = Date.parse(node.at);
    columns.at.push(at - before);
    before = at;
    addSparse(columns, row, node, (id) => rowOf.get(id) ?? -1);
    const said = isDecided(node, (id) => nodes[rowOf.get(id) ?? -1], platform) ? "decided" : verdictOf(node, platform);
    if (said !== undefined) {
      columns.marks.row.push(row);
      columns.marks.mark.push(said);
    }
  }
  const id = nodes.map((node) => node.id).join("");
  return { count: nodes.length, sessions: sessions.all, kinds: kinds.all, writers: writers.all, id, ...columns };
}

/** What few events have. */
function addSparse(
  { parents, marks, outcomes, calls, retried, spent }: Columns,
  row: number,
  node: Node,
  rowOf: (id: string) => number,
): void {
  const { facts } = node;
  if (node.parents.length !== 1 || node.parents[0] !== node.prior) parents.push([row, ...placesBefore(node).map(({ id }) => rowOf(id))]);
  for (const mark of marksOf(node)) {
    marks.row.push(row);
    marks.mark.push(mark);
  }
  if (facts.outcome !== undefined && isNotOk(facts.outcome)) {
    outcomes.row.push(row);
    outcomes.outcome.push(facts.outcome);
  }
  if (facts.call !== undefined && facts.call !== node.parents[0]?.id) {
    calls.row.push(row);
    calls.call.push(rowOf(facts.call));
  }
  if (facts.attempts !== undefined && facts.attempts > 1) {
    retried.row.push(row);
    retried.attempts.push(facts.attempts);
  }
  if (facts.ms !== undefined || facts.usage !== undefined) {
    spent.row.push(row);
    spent.ms.push(facts.ms ?? 0);
    for (const kind of ["input", "output", "usd"] as const) spent[kind].push(facts.usage?.[kind] ?? 0);
  }
}

function marksOf(node: Node): readonly LineageIndex["marks"]["mark"][number][] {
  const { kind, log, parents, erased } = node;
  const found: LineageIndex["marks"]["mark"][number][] = erased ? ["erased"] : [];
  if (node.facts.files === true) found.push("files");
  if (kind === "session.forked" && log.fork?.nested === true) found.push("nested");
  else if (kind === "session.forked" && log.fork?.implicit === true) found.push("implicit");
  else if (kind === "session.detached") found.push("detached");
  else if (kind === "session.merged" && parents[0]?.log !== log) found.push("adopt");
  return found;
}

/** A person let it begin, refused it, or said what became of it. */
function isDecided(node: Node, find: (id: string) => Node | undefined, platform: Platform): boolean {
  if ((node.kind !== "tool.returned" && node.kind !== "do.returned") || node.erased) return false;
  if (node.facts.ms !== undefined && waited(node, find) < waitedMs) return false;
  return node.data<"tool.returned">(platform).answer !== undefined;
}

/** What a check that came to an end found. */
function verdictOf(node: Node, platform: Platform): "passed" | "failed" | undefined {
  if (node.kind !== "check.returned" || node.erased || node.facts.outcome !== "ok") return undefined;
  return node.data<"check.returned">(platform).passed === true ? "passed" : "failed";
}

/** How long it took beside its work. */
function waited(node: Node, find: (id: string) => Node | undefined): number {
  let call = node.facts.call === undefined ? node.parents[0] : find(node.facts.call);
  if (call?.kind.endsWith(".started") === true) call = call.facts.call === undefined ? call.parents[0] : find(call.facts.call);
  return call === undefined ? 0 : Date.parse(node.at) - Date.parse(call.at) - (node.facts.ms ?? 0);
}

function isNotOk(outcome: OutcomeType): outcome is Exclude<OutcomeType, "ok"> {
  return outcome !== "ok";
}

/** Names in the order in which they were first said. */
class Names {
  readonly all: string[] = [];
  readonly #places = new Map<string, number>();

  of(name: string): number {
    const known = this.#places.get(name);
    if (known !== undefined) return known;
    this.#places.set(name, this.all.length);
    return this.all.push(name) - 1;
  }
}
