/** Values that a JSON Schema allows, for tests that know an API by its document alone. */
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import fc from "fast-check";

/** Of JSON Schema, what documents of ours use. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly unevaluatedProperties?: boolean;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly contentEncoding?: string;
  readonly default?: unknown;
  readonly description?: string;
}

/** Values under a name that mean something where the document is served, like ids of what is there. */
export type Known = Readonly<Record<string, readonly unknown[]>>;

/** Texts that break what was not written for them. */
export const oddTexts = [
  ...["__proto__", "constructor", "toString", "\u0000", "\ud800", "\udfff\ud800", "\u202e", "\u001b[31m", "\ufeff", "é\u0301", "İ"],
  ...["</script><script>alert(1)</script>", "../../etc/passwd", "%00%2e%2e", "' OR 1=1 --", "{{x}}", "\r\nx: y", "NaN", "1e999"],
  ...["\\", '"', "`", "[", "(a+)+$", "*", "?", "#", "𝒳".repeat(20), "\n\n", " ", "-0", "null", "[object Object]"],
];

export class Document {
  readonly #root: Readonly<Record<string, unknown>>;
  readonly #ajv: Ajv2020;
  readonly #validators = new WeakMap<Schema, ValidateFunction>();

  constructor(given: Readonly<Record<string, unknown>>) {
    this.#root = located(given, "document") as Readonly<Record<string, unknown>>;
    const formats = { "date-time": dateTime, uri: isWebUrl };
    this.#ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false, formats });
    // A document is no schema, but what its schemas refer to.
    this.#ajv.addKeyword("components");
    const { components } = this.#root;
    this.#ajv.addSchema({ $id: "document", components });
    this.#ajv.addSchema({ $id: "closed", components: located(this.#closed(components), "closed") });
  }

  /** Whether a value fits. Schemas are those of the document. */
  validator(schema: Schema): ValidateFunction {
    return once(this.#validators, schema, () => this.#ajv.compile(located(schema, "document") as Schema));
  }

  /** The same, closed: objects have the fields that are described and no others. */
  strictValidator(schema: Schema): ValidateFunction {
    return this.#ajv.compile(located(this.#closed(located(schema, "document")), "closed") as Schema);
  }

  resolve(schema: Schema): Schema {
    if (schema.$ref === undefined) return schema;
    let found: unknown = this.#root;
    for (const part of schema.$ref.slice(schema.$ref.indexOf("#") + 2).split("/")) found = (found as Record<string, unknown>)[part];
    return this.resolve(found as Schema);
  }

  #closed(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((one) => this.#closed(one));
    if (typeof value !== "object" || value === null) return value;
    const { allOf } = value as Schema;
    if (allOf?.every((part) => this.resolve(part).properties !== undefined)) return this.#closed(this.#merged(allOf));
    const closed = Object.fromEntries(Object.entries(value).map(([name, one]) => [name, this.#closed(one)]));
    const isObject = "properties" in closed && (value as Schema).type === "object";
    return isObject && !("additionalProperties" in closed) ? { ...closed, additionalProperties: false } : closed;
  }

  #merged(parts: readonly Schema[]): Schema {
    const all = parts.map((part) => this.resolve(part));
    return {
      type: "object",
      properties: Object.assign({}, ...all.map(({ properties }) => properties)),
      required: all.flatMap(({ required = [] }) => required),
    };
  }

  /** Values that fit. Under names that are known there often are those that mean something. */
  values(schema: Schema, known: Known, name = ""): fc.Arbitrary<unknown> {
    const fits = this.validator(schema);
    return this.#some(schema, known, name).filter((value) => fits(value));
  }

  #some(schema: Schema, known: Known, name: string): fc.Arbitrary<unknown> {
    const any = this.#any(schema, known, name);
    if (known[name] === undefined) return any;
    const fits = this.validator(schema);
    const meant = known[name].filter((value) => fits(value));
    return meant.length === 0 ? any : fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...meant) }, { weight: 1, arbitrary: any });
  }

  #any(schema: Schema, known: Known, name: string): fc.Arbitrary<unknown> {
    if (schema.$ref !== undefined) return this.#some(this.resolve(schema), known, name);
    if ("const" in schema) return fc.constant(schema.const);
    if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
    const choice = schema.anyOf ?? schema.oneOf;
    if (choice !== undefined) return fc.oneof(...choice.map((one) => this.#some(one, known, name)));
    if (schema.allOf !== undefined) {
      // A reference that has a description of its own.
      const [only, ...others] = schema.allOf.filter((part) => Object.keys(part).some((word) => word !== "description"));
      return this.#any(only !== undefined && others.length === 0 ? only : this.#merged(schema.allOf), known, name);
    }
    const { type } = schema;
    if (Array.isArray(type)) return fc.oneof(...(type as string[]).map((one) => this.#any({ ...schema, type: one }, known, name)));
    switch (type) {
      case "object":
        return this.#objects(schema, known);
      case "array":
        return this.#lists(schema, known, name);
      case "string":
        return once(textsOf, schema, () => texts(schema));
      case "integer":
        return fc.oneof(fc.integer(bounds(schema, 20)), fc.integer(bounds(schema, Number.MAX_SAFE_INTEGER)));
      case "number":
        return fc.double({ min: schema.minimum ?? -1e9, max: schema.maximum ?? 1e9, noNaN: true });
      case "boolean":
        return fc.boolean();
      case "null":
        return fc.constant(null);
      case undefined:
        return anyJson;
      default:
        throw new Error(`there are no values of ${JSON.stringify(schema)} yet`);
    }
  }

  #objects({ properties = {}, required = [], additionalProperties }: Schema, known: Known): fc.Arbitrary<unknown> {
    const described = Object.entries(properties).map(([name, one]) => [name, this.#some(one, known, name)] as const);
    const own = fc.record(Object.fromEntries(described), { requiredKeys: [...required] as never });
    if (typeof additionalProperties !== "object") return own;
    const more = fc.dictionary(fc.string(), this.#some(additionalProperties, known, ""), { maxKeys: 3 });
    return fc.tuple(more, own).map(([others, fields]) => ({ ...others, ...fields }));
  }

  #lists({ items = {}, minItems = 0, maxItems = 100 }: Schema, known: Known, name: string): fc.Arbitrary<unknown> {
    return fc.array(this.#some(items, known, name), { minLength: minItems, maxLength: Math.min(maxItems, minItems + 3) });
  }
}

export const anyJson: fc.Arbitrary<unknown> = fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.constantFrom(...oddTexts));

const anyCharacter = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));

/** Half characters and controls too. */
export function anyText(constraints: { readonly minLength?: number; readonly maxLength?: number }): fc.Arbitrary<string> {
  return fc.oneof(fc.string(constraints), fc.string({ unit: anyCharacter, ...constraints }));
}

function texts({ pattern, format, contentEncoding, minLength = 0, maxLength = 200 }: Schema): fc.Arbitrary<string> {
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern), { maxLength }).filter(({ length }) => length >= minLength);
  if (format === "date-time")
    return fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(8e12) }).map((date) => date.toISOString());
  if (contentEncoding === "base64") return fc.base64String({ maxLength: 50 });
  if (format === "uri") return fc.webUrl();
  const odd = oddTexts.filter(({ length }) => length >= minLength && length <= maxLength);
  const longest = fc.constant("x".repeat(Math.min(maxLength, 5000)));
  const plain = anyText({ minLength, maxLength: Math.min(maxLength, minLength + 30) });
  return odd.length === 0 ? plain : fc.oneof(plain, fc.constantFrom(...odd), longest);
}

function bounds({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: Schema, range: number): { min: number; max: number } {
  const min = minimum ?? (exclusiveMinimum === undefined ? -range : exclusiveMinimum + 1);
  const max = maximum ?? (exclusiveMaximum === undefined ? range : exclusiveMaximum - 1);
  return { min, max: Math.min(max, Math.max(min, range)) };
}

/** What takes long to make, made once for a schema. */
function once<T>(made: WeakMap<Schema, T>, schema: Schema, make: () => T): T {
  const known = made.get(schema) ?? make();
  made.set(schema, known);
  return known;
}

const textsOf = new WeakMap<Schema, fc.Arbitrary<string>>();

/** References within a document, as references from anywhere. */
function located(schema: unknown, document: string): unknown {
  return JSON.parse(JSON.stringify(schema).replaceAll(/"\$ref":"[a-z]*#/g, `"$ref":"${document}#`));
}

function isWebUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:/i.test(text);
}

function dateTime(text: string): boolean {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text) && !Number.isNaN(Date.parse(text));
}
