/** Workflows as they are described. */
import { z } from "@hono/zod-openapi";

export const workflowName = z.string().min(1).max(500);

const agent = z.object({ path: z.string(), model: z.string(), tools: z.array(z.string()) });

/** A workflow inside another. */
export interface WorkflowDescription {
  readonly name: string;
  readonly revision: string;
  readonly agents: readonly { readonly path: string; readonly model: string; readonly tools: readonly string[] }[];
  readonly children: readonly WorkflowDescription[];
}

const description: z.ZodType<WorkflowDescription> = z
  .object({
    name: z.string(),
    revision: z.string().describe("Changes with any agent, model or tool in it, and with its own version."),
    agents: z.array(agent),
    children: z.array(z.lazy(() => description)),
  })
  .openapi("WorkflowDescription");

export const workflowResource = z
  .object({
    name: z.string().describe("What runs are started with."),
    revision: z.string(),
    description: z.string().optional(),
    version: z.string().optional(),
    input: z.record(z.string(), z.unknown()).optional().describe("JSON Schema of what it is started with, where it says."),
    agents: z.array(agent),
    children: z.array(description),
  })
  .openapi("Workflow");
/** A workflow that runs can be started with. */
export type WorkflowResource = z.infer<typeof workflowResource>;
