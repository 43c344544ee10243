/** Schemas of tools: as JSON Schema for models, and as a function that takes an input or says what is wrong with it. */
import { createRequire } from "node:module";
import { RathError } from "../session/errors.ts";
import type { Schema, Validated } from "../session/session.ts";
import { jsonSchemaOf, type Standard, type StandardResult, standardOf, toValidated } from "../session/standard-schema.ts";
import { textOfThrown } from "../session/thrown.ts";

/** The JSON Schema a model sees; refused by name when it is none for an object. */
export function inputSchemaOf(tool: string, schema: Schema): object {
  if (typeof schema !== "object" && typeof schema !== "function") throw invalid(tool, `is ${String(schema)}`);
  if (schema === null) throw invalid(tool, "is null");
  const standard = standardOf(schema);
  const json = standard === undefined ? schema : converted(tool, standard);
  if (!isObjectSchema(json))
    throw invalid(tool, `has no type "object", which every provider needs: give z.object({ … }) or { type: "object", properties: { … } }`);
  try {
    return JSON.parse(JSON.stringify(json)) as object;
  } catch (cause) {
    throw invalid(tool, "is not plain JSON", cause);
  }
}

function converted(tool: string, schema: Standard): object {
  try {
    const json = jsonSchemaOf(schema, "input");
    if (json !== undefined) return json;
  } catch (cause) {
    throw invalid(tool, `cannot be written as JSON Schema (${textOfThrown(cause)}): use types that JSON has`, cause);
  }
  const { vendor } = schema["~standard"];
  throw invalid(tool, `comes from "${vendor}", which cannot give JSON Schema: give zod 4.2 or newer, or a JSON Schema object`);
}

function isObjectSchema(json: unknown): boolean {
  return typeof json === "object" && json !== null && (json as { readonly type?: unknown }).type === "object";
}

/** zod, once it was loaded to look at a schema. */
let zod: typeof import("zod") | undefined;

/** Refuses a JSON Schema that no input could be checked against: at every call the model would be told that its input does not fit. */
export function checkable(tool: string, json: object): void {
  try {
    zod ??= createRequire(import.meta.url)("zod") as typeof import("zod");
  } catch {
    return; // in a bundle of somebody's own it can only be imported: there the first call says it
  }
  try {
    fromJsonSchema(zod, json);
  } catch (cause) {
    throw invalid(tool, `cannot be checked (${textOfThrown(cause)}): mend it, or give a schema of zod`, cause);
  }
}

function fromJsonSchema({ z }: typeof import("zod"), json: object) {
  return z.fromJSONSchema(json as Parameters<typeof z.fromJSONSchema>[0]);
}

/** Validates without waiting where the schema can. */
export function validating(schema: Schema, json: object): (input: unknown) => Validated | Promise<Validated> {
  const standard = standardOf(schema);
  if (standard === undefined) return byJsonSchema(json);
  const { validate } = standard["~standard"];
  return (input) => {
    const result = validate(input);
    return isThenable(result) ? Promise.resolve(result).then((late) => toValidated(late, "input")) : toValidated(result, "input");
  };
}

/** Those that validate later the first time and at once afterwards. */
const loading = new WeakSet<object>();

/** Whether a validation is late by chance, not by its nature: what is recorded must not depend on that. */
export function isLateByChance(validate: object): boolean {
  return loading.has(validate);
}

/** JSON Schema is checked by zod, which is loaded when the first input comes, unless it is there already. */
function byJsonSchema(json: object): (input: unknown) => Validated | Promise<Validated> {
  let check: ((input: unknown) => Validated) | undefined;
  const load = async (): Promise<(input: unknown) => Validated> => {
    const schema = fromJsonSchema(zod ?? (await import("zod")), json);
    return (input) => {
      const result = schema.safeParse(input);
      return result.success ? { value: result.data } : toValidated({ issues: result.error.issues }, "input");
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

function invalid(tool: string, problem: string, cause?: unknown): RathError {
  return new RathError("tool.invalid", `The input schema of tool "${tool}" ${problem}.`, { cause, details: { tool } });
}
