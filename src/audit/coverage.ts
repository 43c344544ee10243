/** What `verify` looked at, and what it did not: a clean result means no more than that. */
import type { ReplayReport } from "../runtime/replay.ts";
import { plural } from "../wire/format.ts";
import type { CheckedBlobs } from "./blobs.ts";
import type { Gathered } from "./gather.ts";
import type { RunStatements } from "./statements.ts";

/** What `verify` looked at: how many of each. */
export interface CheckedParts {
  readonly events: number;
  /** Long texts and bytes that events name. */
  readonly blobs: number;
  /** Trees of files, and the contents of files in them. */
  readonly trees: number;
  readonly files: number;
  readonly runs: number;
  /** Signed statements that hold and count. */
  readonly statements: number;
  /** Answers of people and signals. */
  readonly answers: number;
  /** Events that were compared with what the program asks for. */
  readonly replayed: number;
}

/** Something that `verify` could not judge, or was not asked to. */
export interface Unchecked {
  readonly part: "signatures" | "data" | "shared-run" | "keys" | "anchor" | "replay" | "memory";
  readonly count: number;
  readonly why: string;
}

interface Covered {
  readonly gathered: Gathered;
  readonly runs: readonly RunStatements[];
  readonly counts: CheckedBlobs["counts"];
  readonly erasedContents: ReadonlySet<string>;
  readonly unsigned: number;
  readonly tail: number;
}

/** Counts what was looked at. */
export function partsOf({ gathered, runs, counts }: Covered, replays: readonly ReplayReport[]): CheckedParts {
  let answers = 0;
  for (const { kind } of gathered.entries.values()) if (kind === "answer.given" || kind === "signal.sent") answers++;
  return {
    events: gathered.entries.size,
    ...counts,
    runs: gathered.runs.size,
    statements: runs.reduce((sum, run) => sum + run.statements.length, 0),
    answers,
    replayed: replays.reduce((sum, { steps }) => sum + steps.filter(({ result }) => result !== "not-reached").length, 0),
  };
}

/** Says what a clean result leaves open. */
export function uncheckedIn(
  { gathered, runs, unsigned, tail, erasedContents }: Covered,
  unknownKeys: readonly string[],
  /** How many statements of the anchor are about other sessions; undefined without an anchor. */
  others: number | undefined,
): readonly Unchecked[] {
  let erased = 0;
  let written = 0;
  for (const entry of gathered.entries.values()) {
    if (entry.erased) erased++;
    if (entry.kind === "memory.published") written++;
  }
  const shared = runs.filter(({ run, events }) => events === undefined && gathered.runs.get(run)?.log !== undefined).length;
  const isSigned = unknownKeys.length > 0 || runs.some(({ statements }) => statements.length > 0);
  const theirs = unsigned === tail ? "" : ` ${plural(unsigned - tail, "event")}`;
  const all: readonly Unchecked[] = [
    row("signatures", tail, [
      `event that no signed statement covers: ${isSigned ? "it came after the newest one" : "there is none in this record"}`,
      `events that no signed statement covers: ${isSigned ? "they came after the newest one" : "there is none in this record"}`,
    ]),
    row("keys", unknownKeys.length, [
      `key that signed${theirs} and is not known here: only you can say whether it is trusted`,
      `keys that signed${theirs} and are not known here: only you can say whether they are trusted`,
    ]),
    row("shared-run", shared, [
      "run shared with other sessions, whose statements need events that are not here",
      "runs shared with other sessions, whose statements need events that are not here",
    ]),
    row("data", erased, [
      "event whose data was erased: what it said cannot be judged",
      "events whose data was erased: what they said cannot be judged",
    ]),
    row("data", erasedContents.size, [
      "content of a file that was erased: what it said cannot be judged",
      "contents of files that were erased: what they said cannot be judged",
    ]),
    row("memory", written, [
      "publication: what a memory store holds is not part of the record",
      "publications: what a memory store holds is not part of the record",
    ]),
    others === undefined
      ? { part: "anchor", count: 1, why: "no anchor was given: a record cut back to an older statement would pass" }
      : row("anchor", others, ["a statement of the anchor is about another session", "statements of the anchor are about other sessions"]),
  ];
  return all.filter(({ count }) => count > 0);
}

/** Its words follow the number. */
function row(part: Unchecked["part"], count: number, [one, many]: readonly [string, string]): Unchecked {
  return { part, count, why: count === 1 ? one : many };
}

/** How many events only statements of keys that are not known here vouch for: signed, but by whom is not proven. */
export function signedByOthers({ unsigned, unchecked }: { readonly unsigned: number; readonly unchecked: readonly Unchecked[] }): number {
  return unsigned - (unchecked.find(({ part }) => part === "signatures")?.count ?? 0);
}
