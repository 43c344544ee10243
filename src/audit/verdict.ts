/** What a verification comes to, in a sentence: `String(…)` says it, and the command line. */
import { count, plural } from "../wire/format.ts";
import { type CheckedParts, signedByOthers, type Unchecked } from "./coverage.ts";
import type { Problem } from "./problem.ts";

/** What of a verification it is about. */
interface Found {
  readonly ok: boolean;
  readonly problems: readonly Problem[];
  readonly unknownKeys: readonly string[];
  readonly unsigned: number;
  readonly erased: number;
  readonly checked: CheckedParts;
  readonly unchecked: readonly Unchecked[];
}

export interface Verdict {
  readonly word: "intact" | "not intact" | "intact, but does not replay" | "not proven";
  readonly because: string;
}

export function verdictOf(found: Found): Verdict {
  const { checked, problems, unknownKeys, ok } = found;
  const erased = found.erased === 0 ? "" : `, ${count(found.erased)} erased`;
  const counted = `${plural(checked.events, "event")} checked${erased}, ${signedText(found)}`;
  if (problems.length > 0) {
    const word = problems.every(({ kind }) => kind === "diverged") ? "intact, but does not replay" : "not intact";
    return { word, because: `${plural(problems.length, "problem")}; ${counted}` };
  }
  if (ok) return { word: "intact", because: counted };
  const keys = `${plural(unknownKeys.length, "key")} not known here: ${unknownKeys.join(", ")}`;
  return { word: "not proven", because: `nothing is wrong, but it is signed by ${keys}; ${counted}` };
}

/** What is signed, by whom, and what is not. */
function signedText(found: Found): string {
  if (found.checked.statements === 0 && found.unknownKeys.length === 0) return "none signed";
  const others = signedByOthers(found);
  const tail = found.unsigned - others;
  const keys = found.unknownKeys.length === 1 ? "a key that is not known here" : "keys that are not known here";
  const parts = [...(others === 0 ? [] : [`${count(others)} signed by ${keys}`]), ...(tail === 0 ? [] : [`${count(tail)} not signed yet`])];
  return parts.length === 0 ? "all signed" : parts.join(", ");
}
