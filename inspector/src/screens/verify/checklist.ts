/** What was checked, as a list that somebody goes through: each with how much of it was looked at and what is wrong with it. */
import type { VerificationResource } from "../../../../src/client/client.ts";
import { count, plural } from "../../../../src/wire/format.ts";

export type Problem = VerificationResource["problems"][number];
export type CheckName = "chain" | "contents" | "order" | "signatures" | "anchor" | "replay";

export interface Checked {
  readonly name: CheckName;
  readonly title: string;
  /** open: nothing is known to be wrong, but not all of it could be judged. */
  readonly result: "ok" | "bad" | "open";
  readonly said: string;
  readonly problems: readonly Problem[];
  /** What a clean result leaves open. */
  readonly left: readonly string[];
}

/** Which check a problem belongs to, by its kind. */
const checkOf: Readonly<Record<string, CheckName>> = {
  changed: "chain",
  missing: "chain",
  malformed: "chain",
  newer: "chain",
  unreadable: "chain",
  unwritten: "chain",
  unfinished: "chain",
  listed: "chain",
  moved: "order",
  order: "order",
  signature: "signatures",
  "cut-back": "anchor",
  anchor: "anchor",
  diverged: "replay",
};

const leftOf: Readonly<Record<string, CheckName>> = {
  signatures: "signatures",
  keys: "signatures",
  "shared-run": "signatures",
  data: "contents",
  memory: "contents",
  anchor: "anchor",
  replay: "replay",
};

interface Asked {
  readonly anchored: boolean;
  readonly replayed: boolean;
}

export function checklistOf(found: VerificationResource, { anchored, replayed }: Asked): readonly Checked[] {
  const number = (part: string): number => found.checked[part] ?? 0;
  const isUnknown = found.unknownKeys.length > 0;
  const made = (name: CheckName, title: string, said: string): Checked => {
    const problems = found.problems.filter((problem) => placeOf(problem) === name);
    // Nobody knows what an unknown key signed: the events without a known one need not have come after the newest statement.
    const open = found.unchecked.filter(({ part }) => (leftOf[part] ?? "chain") === name && !(isUnknown && part === "signatures"));
    const left = open.map(({ part, count: many, why }) => (part === "anchor" && !anchored ? why : `${why} (${count(many)})`));
    const unproven = name === "signatures" && isUnknown;
    const undone = (name === "anchor" && !anchored) || (name === "replay" && !replayed) || unproven;
    return { name, title, said, problems, left, result: problems.length > 0 ? "bad" : undone ? "open" : "ok" };
  };
  return [
    made("chain", "Chain of hashes", `${plural(number("events"), "event")} in ${plural(number("runs"), "run")}${erasedText(found)}`),
    made(
      "contents",
      "Contents",
      `${plural(number("blobs"), "blob")}, ${plural(number("trees"), "tree")}, ${plural(number("files"), "file")}`,
    ),
    made("order", "Order and places", `${plural(number("events"), "event")}, ${plural(number("answers"), "answer")} of people and signals`),
    made(
      "signatures",
      "Signatures",
      isUnknown ? signedText(found) : `${plural(number("statements"), "statement")} over ${plural(found.events - found.unsigned, "event")}`,
    ),
    made("anchor", "Anchor", anchored ? "held against the statements you gave" : "none was given"),
    made("replay", "Replay", replayed ? `${plural(number("replayed"), "step")} compared` : "not asked for"),
  ];
}

/** How much of it is signed, as far as that can be said here. */
export function signedText({ unsigned, unknownKeys }: VerificationResource): string {
  if (unknownKeys.length > 0) return `${count(unsigned)} without a signature of a key that is known here`;
  return unsigned === 0 ? "all signed" : `${count(unsigned)} not signed yet`;
}

function erasedText({ erased }: VerificationResource): string {
  return erased === 0 ? "" : `, ${count(erased)} of them erased`;
}

/** What is wrong with a blob, a tree or a file is said of the blob that holds it. */
function placeOf({ kind, problem }: Problem): CheckName {
  const name = checkOf[kind] ?? "chain";
  return name === "chain" && problem.startsWith("blob ") ? "contents" : name;
}

/** The whole in a word: it holds, nothing is wrong but not proven, it does not replay, or it does not hold. */
export function verdictOf(found: VerificationResource): "intact" | "not proven" | "does not replay" | "not intact" {
  if (found.problems.length > 0) return found.problems.every(({ kind }) => kind === "diverged") ? "does not replay" : "not intact";
  return found.ok ? "intact" : "not proven";
}

type Step = VerificationResource["replays"][number]["steps"][number];

/** Where a step's result came from. */
export function sourceOf({ kind }: Step): string {
  if (kind === "model.returned") return "recorded reply";
  return kind.endsWith(".returned") ? "recorded result" : "";
}

/** How a command line names a text. */
function quoted(text: string): string {
  return /^[\w@./:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** The command that does the same. */
export function commandOf(
  session: string,
  { anchor, replay, keys }: { readonly anchor?: string | undefined; readonly replay: boolean; readonly keys: readonly string[] },
): string {
  return [
    `openrath verify ${session}`,
    ...(anchor === undefined ? [] : [`--anchor ${quoted(anchor)}`]),
    ...keys.map((key) => `--key ${quoted(key)}`),
    ...(replay ? ["--replay"] : []),
  ].join(" ");
}
