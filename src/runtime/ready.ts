/** Whether a workflow can work here: its models are found, with packages and keys, and its tools can be offered. */
import { RathError } from "../session/errors.ts";
import type { Model, ModelLike } from "../session/model.ts";
import type { Tool } from "../session/session.ts";
import { textOfThrown } from "../session/thrown.ts";
import { allAgents } from "../workflow/describe.ts";
import { isWorkflow, type Workflow } from "../workflow/workflow.ts";

/** Throws the first problem it finds. */
export async function checkReady(host: { model(like: ModelLike): Promise<Model> }, workflow: Workflow): Promise<void> {
  for (const { path, sketch } of allAgents(workflow, isWorkflow)) {
    for (const like of sketch.models) {
      await host.model(like).catch((error: unknown) => {
        if (!RathError.is(error)) throw error;
        throw new RathError(error.code, `${path}: ${error.message}`, { cause: error, details: error.details });
      });
    }
    for (const tool of sketch.uses) await checkTool(path, tool);
  }
}

/** A schema that cannot be checked would fail at the first call. */
async function checkTool(path: string, tool: Tool): Promise<void> {
  try {
    await tool["~tool"].validate({});
  } catch (cause) {
    const problem = textOfThrown(cause);
    throw new RathError("tool.invalid", `${path}: the input schema of tool "${tool.name}" cannot be used: ${problem}`, { cause });
  }
}
