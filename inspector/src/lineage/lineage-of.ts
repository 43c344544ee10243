/** A lineage of one branch, written down row by row: for tests. */
import type { LineageIndex } from "../../../src/client/client.ts";
import { Lineage } from "./lineage.ts";

export interface Row {
  readonly kind: string;
  readonly at: number;
  readonly by?: string;
  readonly call?: number;
  readonly ms?: number;
  readonly usage?: readonly [number, number, number];
  readonly attempts?: number;
  readonly decided?: true;
  readonly files?: true;
  readonly outcome?: "error" | "denied";
}

export function lineageOf(rows: readonly Row[]): Lineage {
  const kinds = [...new Set(rows.map(({ kind }) => kind))];
  const writers = [...new Set(rows.map(({ by = "agent" }) => by))];
  const having = (field: keyof Row): number[] => rows.flatMap((row, at) => (row[field] === undefined ? [] : [at]));
  const spent = rows.filter(({ ms }) => ms !== undefined);
  const marks = rows.flatMap(({ decided, files }, row) => [
    ...(decided === true ? [[row, "decided"] as const] : []),
    ...(files === true ? [[row, "files"] as const] : []),
  ]);
  const index: LineageIndex = {
    ...{ session: "s", head: "", count: rows.length, cut: 0, sessions: ["s"], kinds, writers },
    id: rows.map((_, row) => row.toString(16).padStart(64, "0")).join(""),
    branch: rows.map(() => 0),
    kind: rows.map(({ kind }) => kinds.indexOf(kind)),
    by: rows.map(({ by = "agent" }) => writers.indexOf(by)),
    step: rows.map((_, row) => row + 1),
    at: rows.map(({ at }, row) => at - (rows[row - 1]?.at ?? 0)),
    parents: [],
    marks: {
      row: marks.map(([row]) => row),
      mark: marks.map(([, mark]) => mark),
    },
    outcomes: { row: having("outcome"), outcome: rows.flatMap(({ outcome }) => outcome ?? []) },
    calls: { row: having("call"), call: rows.flatMap(({ call }) => call ?? []) },
    retried: { row: having("attempts"), attempts: rows.flatMap(({ attempts }) => attempts ?? []) },
    spent: {
      row: having("ms"),
      ms: spent.map(({ ms }) => ms ?? 0),
      input: spent.map(({ usage }) => usage?.[0] ?? 0),
      output: spent.map(({ usage }) => usage?.[1] ?? 0),
      usd: spent.map(({ usage }) => usage?.[2] ?? 0),
    },
  };
  return new Lineage(index);
}
