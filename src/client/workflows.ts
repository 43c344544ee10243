/** Calls about workflows. */
import type { WorkflowResource } from "../wire/api/workflow.ts";
import { at, type CallOptions } from "./call.ts";
import type { Connection } from "./connection.ts";
import type { PageQuery, Pages } from "./pages.ts";

/**
 * Calls about the workflows that runs can be started with.
 *
 * @example
 * const { workflows } = connect({ url: "http://127.0.0.1:7284", key: token });
 * for await (const { name, revision } of workflows.list()) console.log(name, revision);
 */
export interface WorkflowCalls {
  /** All of them, by name. */
  list(query?: PageQuery & CallOptions): Pages<WorkflowResource>;
  /** One: its agents, models and tools, and the revision that changes with them. */
  get(workflow: string, options?: CallOptions): Promise<WorkflowResource>;
}

export function workflowCalls(connection: Connection): WorkflowCalls {
  return {
    list: (query) => connection.list("/v1/workflows", query),
    get: async (workflow, options) => connection.get(at`/v1/workflows/${workflow}`, options),
  };
}
