/** The workflows inside a workflow: found by walking its own properties, arrays and plain objects. Nothing is registered. */

import type { ModelLike } from "../session/model.ts";
import type { Tool } from "../session/session.ts";

/** Workflows that were given no name of their own: they are called by where they are found. */
const unnamed = new WeakSet<object>();

export function leaveUnnamed(workflow: object): void {
  unnamed.add(workflow);
}

/** The name a workflow gives itself. */
export function ownName(workflow: object): string | undefined {
  const { name } = workflow as { readonly name?: unknown };
  return typeof name === "string" && name !== "" && !unnamed.has(workflow) ? name : undefined;
}

/** What a workflow without a name is called where nothing contains it. */
export function fallbackName(workflow: object): string {
  const { name } = workflow as { readonly name?: unknown };
  return typeof name === "string" && name !== "" ? name : "workflow";
}

/** What an agent says of itself; `detail` is what only the revision needs. */
export interface AgentSketch {
  readonly models: readonly ModelLike[];
  readonly uses: readonly Tool[];
  /** Workflows it reaches by its tools and handoffs. */
  readonly children: Readonly<Record<string, object>>;
  readonly detail: unknown;
}

/** Implemented by workflows that ask models. */
export const sketch = Symbol("openrath.sketch");

export function sketchOf(workflow: object): AgentSketch | undefined {
  return (workflow as { readonly [sketch]?: () => AgentSketch })[sketch]?.();
}

/** Children by name: in its properties, in their order, then those it reaches by its tools and handoffs. */
export function childrenOf(workflow: object, isWorkflow: (value: object) => boolean): readonly (readonly [string, object])[] {
  return [...ownChildren(workflow, isWorkflow), ...Object.entries(sketchOf(workflow)?.children ?? {})];
}

function ownChildren(workflow: object, isWorkflow: (value: object) => boolean): ReadonlyMap<string, object> {
  const found = new Map<string, object>();
  const seen = new Set<object>([workflow]);
  const visit = (value: unknown, name: string): void => {
    if (typeof value !== "object" || value === null || seen.has(value)) return;
    seen.add(value);
    if (isWorkflow(value)) found.set(unique(ownName(value) ?? name, found), value);
    else if (Array.isArray(value)) for (const [index, inner] of value.entries()) visit(inner, `${name}-${index + 1}`);
    else if (isPlain(value)) for (const [key, inner] of Object.entries(value)) visit(inner, key);
  };
  for (const [key, value] of Object.entries(workflow)) visit(value, key);
  return found;
}

function unique(name: string, taken: ReadonlyMap<string, object>): string {
  let free = name;
  for (let n = 2; taken.has(free); n++) free = `${name}-${n}`;
  return free;
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}
