/** The workflows that can be started by name, as they describe themselves. */
import { z } from "@hono/zod-openapi";
import type { Runtime } from "../../runtime/runtime.ts";
import { unknownWorkflow } from "../../runtime/take-up.ts";
import { jsonSchemaOf, standardOf } from "../../session/standard-schema.ts";
import { pageOf, pageQuery } from "../../wire/api/page.ts";
import { workflowName, workflowResource } from "../../wire/api/workflow.ts";
import type { Workflow } from "../../workflow/workflow.ts";
import { route } from "../route.ts";

export const getWorkflows = route({
  name: "getWorkflows",
  at: "GET /v1/workflows",
  needs: "runs:read",
  summary: "The workflows that runs can be started with, by name",
  query: z.strictObject(pageQuery),
  answer: pageOf(workflowResource),
  handle: async ({ runtime, query: { limit, after = "" } }) => {
    const names = Object.keys(runtime.workflows)
      .filter((name) => name > after)
      .sort();
    const items = names.slice(0, limit).map((name) => described(runtime, name));
    return { items, ...(names.length > limit ? { next: names[limit - 1] as string } : {}) };
  },
});

export const getWorkflow = route({
  name: "getWorkflow",
  at: "GET /v1/workflows/{workflow}",
  needs: "runs:read",
  summary: "A workflow: its agents, models and tools, and the revision that changes with them",
  params: z.object({ workflow: workflowName }),
  answer: workflowResource,
  handle: async ({ runtime, params }) => {
    if (!Object.hasOwn(runtime.workflows, params.workflow)) throw unknownWorkflow(params.workflow);
    return described(runtime, params.workflow);
  },
});

function described(runtime: Runtime, name: string) {
  const workflow = runtime.workflows[name] as Workflow & { readonly description?: unknown; readonly version?: unknown };
  const { revision, agents, children } = workflow.describe();
  const { description, version } = workflow;
  const input = inputOf(workflow);
  return {
    ...{ name, revision, agents, children },
    ...(typeof description === "string" ? { description } : {}),
    ...(version === undefined ? {} : { version: String(version) }),
    ...(input === undefined ? {} : { input: input as Record<string, unknown> }),
  };
}

/** What it is started with, where it says and JSON Schema can. */
function inputOf(workflow: object): object | undefined {
  const { input } = workflow as { readonly input?: unknown };
  const schema = typeof input === "object" && input !== null ? standardOf(input) : undefined;
  try {
    return schema === undefined ? undefined : jsonSchemaOf(schema, "input");
  } catch {
    return undefined; // its library cannot say it: it is checked all the same
  }
}
