/** What a row is, in a word and as a glyph. */
import type { Lineage } from "../../lineage/lineage.ts";
import type { GraphRows } from "./graph-rows.ts";

export type Glyph =
  | "turn"
  | "message"
  | "root"
  | "fork"
  | "nested"
  | "merge"
  | "adopt"
  | "reject"
  | "return"
  | "compress"
  | "waiting"
  | "decided"
  | "trouble"
  | "passed"
  | "failed"
  | "effect"
  | "quiet";

/** What each glyph says, for the legend and for whoever does not see it. */
export const glyphWords: Readonly<Record<Glyph, string>> = {
  turn: "turn",
  message: "message",
  root: "session begins",
  fork: "fork",
  nested: "nested work begins",
  merge: "merge",
  adopt: "result adopted",
  reject: "rejected",
  return: "nested work came back",
  compress: "context compressed",
  waiting: "waits for somebody",
  decided: "somebody decided",
  trouble: "error, denied or unknown",
  passed: "check that passed",
  failed: "check that failed",
  effect: "effect: check under way, route, memory, question",
  quiet: "note, placement, entering and leaving",
};

/** What waits or was decided, by the event that asked. */
export type Decisions = ReadonlyMap<number, "waiting" | "decided">;

export function glyphOf(rows: GraphRows, row: number, decisions: Decisions): Glyph {
  const { turns, lineage } = rows;
  switch (rows.lanes(row).mark) {
    case "root":
      return "root";
    case "fork":
    case "implicit":
    case "detach":
      return "fork";
    case "nested":
      return "nested";
    case "merge":
      return "merge";
    case "adopt":
      return "adopt";
    case "reject":
      return "reject";
    default:
  }
  const decided = decisions.get(row);
  if (decided !== undefined) return decided;
  if (turns.trouble(row) !== undefined) return "trouble";
  const verdict = verdictOf(lineage, turns.said(row));
  if (verdict !== undefined) return verdict;
  if (rows.lanes(row).mark === "return") return "return";
  if (turns.isTurn(row)) return "turn";
  return glyphOfKind(lineage.kind(turns.first(row)));
}

/** What a check found. */
export function verdictOf(lineage: Lineage, event: number): "passed" | "failed" | undefined {
  return lineage.has(event, "passed") ? "passed" : lineage.has(event, "failed") ? "failed" : undefined;
}

/** Of an event that stands alone. */
export function glyphOfKind(kind: string): Glyph {
  if (kind === "message.added") return "message";
  if (kind === "context.compressed") return "compress";
  return /^(note|record|placement|workflow|agent|sandbox|workspace|data)\./.test(kind) ? "quiet" : "effect";
}

/** A kind in words, until it is known what the event says. */
export function kindWords(kind: string): string {
  const [op = "", what = ""] = kind.split(".");
  return `${op} ${what}`.trim();
}
