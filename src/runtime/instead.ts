/** Which agent asks otherwise, from which of its calls on: as a rerun is asked for it, and as it is on record. */
import { RathError } from "../session/errors.ts";
import type { DataOf } from "../session/event.ts";
import { callOf, stateOf, turnsOf } from "../session/fold.ts";
import { givenText, kindOf, unsupported } from "../session/given.ts";
import type { AskedInstead } from "../session/host.ts";
import { modelName } from "../session/model.ts";
import { allAgents } from "../workflow/describe.ts";
import { isWorkflow, type Workflow } from "../workflow/workflow.ts";
import type { RunRecord } from "./run-record.ts";
import type { Runtime } from "./runtime.ts";

type Recorded = NonNullable<DataOf<"run.started">["instead"]>;

interface Change {
  readonly event: string;
  readonly model?: string | undefined;
  readonly instructions?: string | undefined;
}

/** The agent and the call that a change names by an event. */
export function insteadOf(runtime: Runtime, { program, id }: RunRecord, { event, model, instructions }: Change): Recorded {
  const node = program.find((one) => one.id === event);
  const call = node?.kind === "model.returned" ? callOf(node) : node;
  if (call?.kind !== "model.called" || call.parent === undefined)
    throw new RathError(
      "value.unsupported",
      `Event ${event} of run ${id} is no model call: name one to change its model or instructions.`,
      {
        details: { event },
      },
    );
  if (model === undefined && instructions === undefined)
    throw new RathError("value.unsupported", "Nothing is changed: give another model, other instructions, or both.");
  if (model !== undefined && typeof model !== "string")
    throw unsupported("change.model", `is ${kindOf(model)}`, "give a name, and name the model by it in openrath({ models })");
  if (instructions !== undefined) givenText(instructions, "change.instructions");
  return {
    by: call.by,
    turn: turnsOf(stateOf(call.parent), call.by),
    ...(model === undefined ? {} : { model }),
    ...(instructions === undefined ? {} : { instructions: runtime.clean(instructions) }),
  };
}

/** A model of the workflow is meant by its name; any other name is looked up as always. */
export function askedInstead(recorded: Recorded | undefined, workflow: Workflow): AskedInstead | undefined {
  if (recorded?.model === undefined) return recorded;
  const { model } = recorded;
  const known = allAgents(workflow, isWorkflow).flatMap(({ sketch }) => sketch.models);
  return { ...recorded, model: known.find((like) => modelName(like) === model) ?? model };
}
