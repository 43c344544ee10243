/** What a workflow is made of, as data. Class names are never used; children are named by where they are found. */
import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import { modelName } from "../session/model.ts";
import { type AgentSketch, childrenOf, fallbackName, sketchOf } from "./children.ts";

/** Every agent, model and tool a workflow may use. `revision` changes with any of them, and with the workflow's own `version`. */
export interface Description {
  readonly name: string;
  readonly revision: string;
  readonly agents: readonly { readonly path: string; readonly model: string; readonly tools: readonly string[] }[];
  readonly children: readonly Description[];
}

export function describeWorkflow(workflow: object, isWorkflow: (value: object) => boolean): Description {
  return described(workflow, fallbackName(workflow), "", isWorkflow, new Set());
}

/** Every agent in a workflow, however deep, with its path. */
export function allAgents(
  workflow: object,
  isWorkflow: (value: object) => boolean,
  path: string = fallbackName(workflow),
  around: ReadonlySet<object> = new Set(),
): readonly { readonly path: string; readonly sketch: AgentSketch }[] {
  const inside = new Set([...around, workflow]);
  const own = sketchOf(workflow);
  const children = childrenOf(workflow, isWorkflow).filter(([, child]) => !inside.has(child));
  return [
    ...(own === undefined ? [] : [{ path, sketch: own }]),
    ...children.flatMap(([name, child]) => allAgents(child, isWorkflow, `${path}/${name}`, inside)),
  ];
}

function described(
  workflow: object,
  name: string,
  above: string,
  isWorkflow: (value: object) => boolean,
  around: ReadonlySet<object>,
): Description {
  const path = above === "" ? name : `${above}/${name}`;
  const inside = new Set([...around, workflow]);
  const own = sketchOf(workflow);
  const children = childrenOf(workflow, isWorkflow)
    .filter(([, child]) => !inside.has(child))
    .map(([key, child]) => described(child, key, path, isWorkflow, inside));
  const agents = [
    ...(own === undefined
      ? []
      : [{ path, model: own.models.map(modelName).join(", ") || "function", tools: own.uses.map((tool) => tool.name) }]),
    ...children.flatMap((child) => child.agents),
  ];
  const { version, description } = workflow as { readonly version?: unknown; readonly description?: unknown };
  const text = canonicalize({
    name,
    version: version === undefined ? "" : String(version),
    description: typeof description === "string" ? description : "",
    detail: own?.detail ?? null,
    children: children.map((child) => child.revision),
  });
  const revision = createHash("sha256")
    .update(text ?? "")
    .digest("hex")
    .slice(0, 16);
  return Object.freeze({ name, revision, agents: Object.freeze(agents), children: Object.freeze(children) });
}
