/**
 * What differs between two sessions, or two places in one: their common ancestor, the events after it side by side, and what that
 * means for messages, files, memory, calls, checks, tokens, money and time. Reads what differs, not the whole history.
 */
import { runtimeOf } from "../runtime/replay.ts";
import { givenOptions } from "../session/given.ts";
import type { Session } from "../session/session.ts";
import { placeOf } from "../session/value.ts";
import type { AskOptions } from "./ask-options.ts";
import type { Diff } from "./diff-data.ts";

export type {
  Both,
  Diff,
  DiffAgent,
  DiffAnswer,
  DiffCall,
  DiffEvent,
  Differing,
  DiffFile,
  DiffItem,
  DiffMemory,
  DiffMessage,
  DiffModel,
  DiffPlace,
  DiffReuse,
  DiffSpent,
  DiffStep,
} from "./diff-data.ts";

/**
 * Compares two sessions, or two places in one. Events count as the same when they agree in kind and content, whatever their ids:
 * so a session and its rerun differ in what changed, and in what changed because of it. What was done inside a call belongs to that
 * call. Nothing is recorded.
 *
 * @example
 * const { session: again } = await rerun(session, workflow, { change: { event: weather, output: "rain" } });
 * const found = await diff(session, again);
 * console.log(String(found)); // the first difference, figures, then what differs
 * for (const { a, b } of found.checks) console.log(b?.name, a?.passed, "→", b?.passed);
 */
export async function diff(a: Session, b: Session, options: AskOptions = {}): Promise<Diff> {
  const runtime = runtimeOf(a);
  placeOf(b);
  const { signal } = givenOptions(options, ["signal"], "diff");
  // Loaded when somebody asks: most programs that import the package never do.
  const { diffBetween } = await import("./diff-between.ts");
  return diffBetween(runtime, a, b, signal);
}
