/** Schemas of tools: as JSON Schema for models, and as a function that takes an input or says what is wrong with it. */
import { RathError } from "../session/errors.ts";
import type { Schema, Validated } from "../session/session.ts";

interface Standard {
  readonly "~standard": {
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult | Promise<StandardResult>;
    readonly jsonSchema?: { readonly input?: (options: { readonly target: string }) => Record<string, unknown> };
  };
}
interface StandardResult {
  readonly value?: unknown;
  readonly issues?: readonly { readonly message: string; readonly path?: readonly unknown[] | undefined }[] | undefined;
}

/** The JSON Schema a model sees; refused by name when it is none for an object. */
export function inputSchemaOf(tool: string, schema: Schema): object {
  if (typeof schema !== "object" && typeof schema !== "function") throw invalid(tool, `is ${String(schema)}`);
  if (schema === null) throw invalid(tool, "is null");
  const json = isStandard(schema) ? converted(tool, schema) : schema;
  if (!isObjectSchema(json)) throw invalid(tool, `has no type "object", which every provider needs`);
  try {
    return JSON.parse(JSON.stringify(json)) as object;
  } catch (cause) {
    throw invalid(tool, "is not plain JSON", cause);
  }
}

function converted(tool: string, schema: Standard): Record<string, unknown> {
  const { vendor, jsonSchema } = schema["~standard"];
  if (jsonSchema?.input === undefined)
    throw invalid(tool, `comes from "${vendor}", which cannot give JSON Schema: give zod 4.2 or newer, or a JSON Schema object`);
  try {
    const { $schema: _, ...rest } = jsonSchema.input({ target: "draft-2020-12" });
    return rest;
  } catch (cause) {
    throw invalid(tool, `cannot be written as JSON Schema (${cause instanceof Error ? cause.message : String(cause)})`, cause);
  }
}

function isObjectSchema(json: unknown): boolean {
  return typeof json === "object" && json !== null && (json as { readonly type?: unknown }).type === "object";
}

/** Validates without waiting where the schema can. */
export function validating(schema: Schema, json: object): (input: unknown) => Validated | Promise<Validated> {
  if (!isStandard(schema)) return byJsonSchema(json);
  const { validate } = schema["~standard"] as Standard["~standard"];
  return (input) => {
    const result = validate(input);
    return isThenable(result) ? Promise.resolve(result).then(toValidated) : toValidated(result);
  };
}

/** Those that validate later the first time and at once afterwards. */
const loading = new WeakSet<object>();

/** Whether a validation is late by chance, not by its nature: what is recorded must not depend on that. */
export function isLateByChance(validate: object): boolean {
  return loading.has(validate);
}

/** JSON Schema is checked by zod, which is loaded when the first input comes. */
function byJsonSchema(json: object): (input: unknown) => Validated | Promise<Validated> {
  let check: ((input: unknown) => Validated) | undefined;
  const load = async (): Promise<(input: unknown) => Validated> => {
    const { z } = await import("zod");
    const schema = z.fromJSONSchema(json as Parameters<typeof z.fromJSONSchema>[0]);
    return (input) => {
      const result = schema.safeParse(input);
      return result.success ? { value: result.data } : toValidated({ issues: result.error.issues });
    };
  };
  const validate = (input: unknown): Validated | Promise<Validated> => {
    if (check !== undefined) return check(input);
    return load().then((loaded) => {
      check = loaded;
      return loaded(input);
    });
  };
  loading.add(validate);
  return validate;
}

function isThenable(result: StandardResult | Promise<StandardResult>): result is Promise<StandardResult> {
  return typeof (result as { readonly then?: unknown } | undefined)?.then === "function";
}

function toValidated(result: StandardResult): Validated {
  if (result.issues === undefined) return { value: result.value };
  return { problems: result.issues.map((issue) => `${pathOf(issue.path)}: ${issue.message}`) };
}

function pathOf(path: readonly unknown[] | undefined): string {
  const keys = (path ?? []).map((part) => (typeof part === "object" && part !== null && "key" in part ? String(part.key) : String(part)));
  return keys.join(".") || "input";
}

function isStandard(schema: Schema): schema is Schema & Standard {
  return "~standard" in schema && schema["~standard"] !== undefined;
}

function invalid(tool: string, problem: string, cause?: unknown): RathError {
  return new RathError("tool.invalid", `The input schema of tool "${tool}" ${problem}.`, { cause, details: { tool } });
}
