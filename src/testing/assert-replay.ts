/** A recorded session as a regression test of prompts: no key, no network; what changed is shown as a diff. */
import { type ReplayReport, replay } from "../runtime/replay.ts";
import type { Session } from "../session/session.ts";
import type { Workflow } from "../workflow/workflow.ts";

/**
 * Replays a session and throws with the first difference printed as a diff.
 *
 * @example
 * test("the fix workflow still asks what it asked", async () => {
 *   const session = await fixture("test/sessions/fix.jsonl", rath, () => record());
 *   await assertReplay(session, new Fix());
 * });
 */
export async function assertReplay(session: Session, workflow: Workflow): Promise<ReplayReport> {
  const report = await replay(session, workflow);
  if (report.identical) return report;
  const { at, field, expected, got } = report;
  const lines = [
    `The workflow does not ask what it asked when session ${session.id} was recorded: at step ${at.step} (${at.kind} by ${at.by}), ${field} differs.`,
    ...difference(expected, got),
    "If the change is wanted, record the session again: UPDATE_SESSIONS=1.",
  ];
  throw new Error(lines.join("\n"));
}

/** Lines that are gone and lines that are new, with what surrounds them left out. */
function difference(expected: unknown, got: unknown): readonly string[] {
  const [before, after] = [linesOf(expected), linesOf(got)];
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  let end = 0;
  while (end < before.length - start && end < after.length - start && before.at(-1 - end) === after.at(-1 - end)) end++;
  return [
    ...(start > 0 ? [`  … ${start} equal lines`] : []),
    ...before.slice(start, before.length - end).map((line) => `- ${line}`),
    ...after.slice(start, after.length - end).map((line) => `+ ${line}`),
    ...(end > 0 ? [`  … ${end} equal lines`] : []),
  ];
}

function linesOf(value: unknown): readonly string[] {
  if (value === undefined) return [];
  return (typeof value === "string" ? value : JSON.stringify(value, null, 2)).split("\n");
}
