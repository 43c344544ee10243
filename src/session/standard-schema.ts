/** Schemas in the convention of Standard Schema: as JSON Schema, and as what they make of a value. Plain JSON Schema is none. */
import type { Validated } from "./session.ts";

/** What the libraries implement; `jsonSchema` only some of them. */
export interface Standard {
  readonly "~standard": {
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult | Promise<StandardResult>;
    readonly jsonSchema?: Readonly<Partial<Record<"input" | "output", (options: { readonly target: string }) => Record<string, unknown>>>>;
  };
}

export interface StandardResult {
  readonly value?: unknown;
  readonly issues?: readonly { readonly message: string; readonly path?: readonly unknown[] | undefined }[] | undefined;
}

/** The schema as one of these, or undefined. */
export function standardOf(schema: object): Standard | undefined {
  return (schema as Partial<Standard>)["~standard"] === undefined ? undefined : (schema as Standard);
}

/** The JSON Schema of what it takes or gives; undefined where its library has none. Throws what the library throws. */
export function jsonSchemaOf(schema: Standard, side: "input" | "output"): object | undefined {
  const convert = schema["~standard"].jsonSchema?.[side];
  if (convert === undefined) return undefined;
  const { $schema: _, ...rest } = convert({ target: "draft-2020-12" });
  return rest;
}

/** The value, or each problem with its place in words. `root` is what the whole value is called. */
export function toValidated({ issues, value }: StandardResult, root: string): Validated {
  if (issues === undefined) return { value };
  return { problems: issues.map(({ path = [], message }) => `${path.map(keyOf).join(".") || root}: ${message}`) };
}

function keyOf(part: unknown): string {
  return typeof part === "object" && part !== null && "key" in part ? String(part.key) : String(part);
}
