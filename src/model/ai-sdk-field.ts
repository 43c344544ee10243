/** Reading what providers give: nothing is known of it before it is looked at. */

export function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** A field of something that may be no object and may not have it. */
export function fieldOf(value: unknown, name: string): unknown {
  return isObject(value) ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
}

/** The string, or an empty one. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Those of the named fields that are strings. */
export function textsOf<K extends string>(value: unknown, ...names: readonly K[]): { readonly [N in K]?: string } {
  const found = names.map((name) => [name, fieldOf(value, name)]).filter(([, text]) => typeof text === "string");
  return Object.fromEntries(found) as { readonly [N in K]?: string };
}
