/** What can be checked of a session, checked: its record against itself, and its program against its record. */
import { replay, runtimeOf } from "../../runtime/replay.ts";
import { runBehind } from "../../runtime/run-record.ts";
import { RathError } from "../../session/errors.ts";
import type { Session } from "../../session/session.ts";
import { textOfThrown } from "../../session/thrown.ts";
import { placeOf } from "../../session/value.ts";
import { Workflow } from "../../workflow/workflow.ts";
import { type Verification, verify } from "../verify.ts";

/** The program executed again against its record, or why it was not. */
export type Replayed =
  | { readonly done: true; readonly identical: boolean; readonly workflow: string; readonly words: string }
  | { readonly done: false; readonly workflow: string | undefined; readonly words: string };

export interface Proof {
  readonly verification: Verification;
  readonly replay: Replayed;
}

/** Verifies a session, and replays it where its workflow is at hand. Calls nothing. */
export async function prove(session: Session, { workflow, replay: replays = true, onProgress }: ProveOptions = {}): Promise<Proof> {
  return { verification: await verify(session, { onProgress }), replay: await replayed(session, workflow, replays) };
}

interface ProveOptions {
  readonly workflow?: Workflow | undefined;
  readonly replay?: boolean | undefined;
  readonly onProgress?: ((events: number) => void) | undefined;
}

async function replayed(session: Session, given: Workflow | undefined, replays: boolean): Promise<Replayed> {
  const runtime = runtimeOf(session);
  let name: string | undefined;
  try {
    const { started } = await runBehind(runtime, placeOf(session).node);
    name = started.workflow;
    if (!replays) return { done: false, workflow: name, words: "it was not asked for when this was written" };
    const known = Object.hasOwn(runtime.workflows, name) ? runtime.workflows[name] : undefined;
    const workflow = given ?? (known instanceof Workflow ? known : undefined);
    if (workflow === undefined)
      return { done: false, workflow: name, words: `the workflow "${name}" was not at hand when this was written` };
    const report = await replay(session, workflow);
    return { done: true, identical: report.identical, workflow: name, words: String(report) };
  } catch (error) {
    if (RathError.is(error, "run.not-recorded"))
      return { done: false, workflow: undefined, words: "no workflow made it: there is no program to execute again" };
    return { done: false, workflow: name, words: `it could not be executed again: ${textOfThrown(error)}` };
  }
}
