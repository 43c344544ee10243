/** A lineage as large as one likes, without a store behind it: many branches at once, most of them rejected, some merged, one adopted. */
import type { LineageIndex } from "../../src/client/client.ts";

const kinds = [
  ...["session.created", "session.forked", "session.merged", "session.rejected", "message.added"],
  ...["model.called", "model.returned", "tool.called", "tool.returned", "check.called", "check.returned", "context.compressed"],
] as const;
type Kind = (typeof kinds)[number];

const writers = ["ada", "plan/writer", "plan/reader", "plan/reviewer"];

export function syntheticId(row: number): string {
  return row.toString(16).padStart(8, "0").repeat(8);
}

export function syntheticLineage({ events, branches }: { readonly events: number; readonly branches: number }): LineageIndex {
  const columns = {
    ...{ branch: [] as number[], kind: [] as number[], by: [] as number[], step: [] as number[], at: [] as number[] },
    ...{ parents: [] as number[][], calls: { row: [], call: [] }, retried: { row: [], attempts: [] } },
  };
  const marks: LineageIndex["marks"] = { row: [], mark: [] };
  const outcomes: LineageIndex["outcomes"] = { row: [], outcome: [] };
  const spent: LineageIndex["spent"] = { row: [], ms: [], input: [], output: [], usd: [] };
  const spend = (row: number, ms: number, input: number, output: number, usd: number): void => {
    spent.row.push(row);
    spent.ms.push(ms);
    spent.input.push(input);
    spent.output.push(output);
    spent.usd.push(usd);
  };
  const ids: string[] = [];
  const tips: number[] = [];
  const add = (branch: number, kind: Kind, parents?: readonly number[]): number => {
    const row = columns.branch.length;
    const from = parents ?? [tips[branch] ?? -1];
    ids.push(syntheticId(row));
    columns.branch.push(branch);
    columns.kind.push(kinds.indexOf(kind));
    columns.by.push(kind === "message.added" ? 0 : 1 + (branch % 3));
    columns.step.push(Math.max(0, ...from.map((parent) => columns.step[parent] ?? 0)) + 1);
    columns.at.push(row === 0 ? 1_790_000_000_000 : 40);
    if (parents !== undefined) columns.parents.push([row, ...parents]);
    if (kind === "model.returned") spend(row, 900, 1200, 80 + (row % 40), 0.002);
    if (kind === "tool.returned" || kind === "check.returned") spend(row, 30, 0, 0, 0);
    if (kind === "tool.returned" && row % 97 === 0) {
      outcomes.row.push(row);
      outcomes.outcome.push("error");
    }
    tips[branch] = row;
    return row;
  };
  const turn: readonly Kind[] = ["model.called", "model.returned", "tool.called", "tool.returned"];
  add(0, "session.created", []);
  add(0, "message.added");
  const living = [0];
  const gap = Math.max(4, Math.floor(events / branches));
  for (let turns = 0; columns.branch.length < events - 8; turns++) {
    if (tips.length < branches && columns.branch.length >= tips.length * gap) {
      const branch = tips.length;
      add(branch, "session.forked", [tips[living[turns % living.length] ?? 0] ?? 0]);
      add(branch, "message.added");
      living.push(branch);
    }
    const place = turns % living.length;
    const branch = living[place] ?? 0;
    for (const kind of turn) add(branch, kind);
    if (turns % 50 === 49) add(branch, "context.compressed");
    if (branch !== 0 && living.length > 40) {
      living.splice(place, 1);
      if (branch % 5 === 0) add(0, "session.merged", [tips[0] ?? 0, tips[branch] ?? 0]);
      else add(branch, "session.rejected");
    }
  }
  const winner = living.at(-1) ?? 0;
  add(winner, "check.called");
  add(winner, "check.returned");
  if (winner !== 0) {
    marks.row.push(add(0, "session.merged", [tips[winner] ?? 0, tips[0] ?? 0]));
    marks.mark.push("adopt");
  }
  const count = columns.branch.length;
  const sessions = tips.map((_, branch) => `00000000-0000-4000-8000-${String(branch).padStart(12, "0")}`);
  return {
    ...{ session: sessions[0] ?? "", head: ids.at(-1) ?? "", count, cut: 0, sessions, kinds: [...kinds], writers, id: ids.join("") },
    ...{ ...columns, marks, outcomes, spent, retried: { row: [], attempts: [] } },
  };
}
