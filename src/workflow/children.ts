/** The workflows inside a workflow: found by walking its own properties, arrays and plain objects. Nothing is registered. */

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

/** Children by name, in the order of their properties. */
export function childrenOf(workflow: object, isWorkflow: (value: object) => boolean): ReadonlyMap<string, object> {
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
