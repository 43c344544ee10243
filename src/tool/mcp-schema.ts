/**
 * Checks values against a server's JSON Schema. Patterns are left out: the server checks its input itself, and a regular expression
 * written by a stranger can hold up the process. A schema that cannot be converted accepts every object.
 */
import type { Validated } from "../session/session.ts";

type FromJsonSchema = typeof import("zod").z.fromJSONSchema;

/** Takes a value as it is, or says what is wrong with it: "city: expected string, received number". */
export type Check = (value: unknown) => Validated;

/** A check that is converted from JSON Schema when it is first used. */
export function lazyCheck(schema: object): (value: unknown) => Promise<Validated> {
  let check: Promise<Check> | undefined;
  return async (value) => {
    check ??= import("zod").then(({ z }) => checkOf(schema, z.fromJSONSchema));
    return (await check)(value);
  };
}

/** A check against JSON Schema. */
export function checkOf(schema: object, convert: FromJsonSchema): Check {
  let type: ReturnType<FromJsonSchema>;
  try {
    type = convert(withoutPatterns(schema) as Parameters<FromJsonSchema>[0]);
  } catch {
    return (value) => (isObject(value) ? { value } : { problems: ["expected object"] });
  }
  return (value) => {
    const result = type.safeParse(value);
    // The value as it came, not as parsed: defaults are the server's to fill in, and what the schema does not name is its business.
    return result.success ? { value } : { problems: result.error.issues.map(problem) };
  };
}

function problem(issue: { readonly path: readonly PropertyKey[]; readonly message: string }): string {
  const message = issue.message.replace(/^Invalid input: /, "");
  return issue.path.length === 0 ? message : `${issue.path.map(String).join(".")}: ${message}`;
}

function withoutPatterns(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutPatterns);
  if (!isObject(schema)) return schema;
  const entries = Object.entries(schema).filter(
    // Under `properties` a field may be called "pattern"; it is an object then.
    ([key, value]) => !(key === "pattern" && typeof value === "string") && key !== "patternProperties",
  );
  return Object.fromEntries(entries.map(([key, value]) => [key, key === "enum" || key === "const" ? value : withoutPatterns(value)]));
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
