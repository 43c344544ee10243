/** What can be checked of a session, checked: its record against itself, and its program against its record. */
import { replay, runtimeOf } from "../../runtime/replay.ts";
import { runBehind } from "../../runtime/run-record.ts";
import { RathError } from "../../session/errors.ts";
import type { Session } from "../../session/session.ts";
import { textOfThrown } from "../../session/thrown.ts";
import { placeOf } from "../../session/value.ts";
import { Workflow } from "../../workflow/workflow.ts";
import { type Verification, verify } from "../verify.ts";
import type { Tone } from "./blocks.ts";

/** The program executed again against its record, or why it was not. */
export type Replayed =
  | { readonly done: true; readonly identical: boolean; readonly workflow: string; readonly words: string }
  | { readonly done: false; readonly workflow: string | undefined; readonly words: string };

export interface Proof {
  readonly verification: Verification;
  readonly replay: Replayed;
  /** Keys of others that counted. */
  readonly keys: readonly string[];
}

/** How a dossier is made. */
export interface DossierOptions {
  /** Executed against the record to say whether it still does the same. Default: the one of the recorded name, where this Rath knows it. */
  readonly workflow?: Workflow | undefined;
  /** Whether it is executed at all. Default true; where it is not, the page says so. */
  readonly replay?: boolean | undefined;
  /** Keys of other homes whose signatures count, as for `verify`. */
  readonly keys?: readonly string[] | undefined;
  /** Told how many more events were read. What it throws ends the work, and nothing is written. */
  readonly onProgress?: ((events: number) => void) | undefined;
}

/** Verifies a session, and replays it where its workflow is at hand. Calls nothing. */
export async function prove(session: Session, options: DossierOptions = {}): Promise<Proof> {
  const { workflow, keys = [], replay: replays = true, onProgress } = options;
  return { verification: await verify(session, { keys, onProgress }), replay: await replayed(session, workflow, replays), keys };
}

/** What is to be said of a record, in a word: where nothing is wrong, but strangers signed it, nothing is proven either. */
export function recordWord(verified: boolean, problems: number): readonly [word: string, tone: Tone] {
  if (verified) return ["intact", "good"];
  return problems === 0 ? ["not proven", "warn"] : ["in doubt", "bad"];
}

/** The keys that whoever reads the record elsewhere has to trust. */
export function signersOf({ verification: { statement, unknownKeys }, keys }: Proof): readonly string[] {
  const own = statement === undefined ? [] : [(JSON.parse(statement) as { readonly statement: { readonly key: string } }).statement.key];
  return [...new Set([...own, ...keys, ...unknownKeys])];
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
