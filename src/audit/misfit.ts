/** Shapes of what was stored, and what is said of a value that does not have its shape. */
import type { Flaw } from "./problem.ts";

/** What is used of a schema. */
export interface Schema {
  safeParse(value: unknown): {
    readonly success: boolean;
    readonly error?: { readonly issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[] } | undefined;
  };
}

/** Undefined when a value fits. */
export function misfit(schema: Schema, value: unknown, name: string): Flaw | undefined {
  const { success, error } = schema.safeParse(value);
  if (success) return undefined;
  const issue = error?.issues[0];
  const field = [name, ...(issue?.path ?? []).map(String)].join(".");
  return {
    problem: `its ${field} does not have the shape it must have: ${issue?.message ?? "it does not fit"}`,
    field,
    kind: "malformed",
  };
}
