/** The fields of a form that gives what a JSON Schema describes: one value, or an object of simple ones. Anything else is written as JSON. */

export type FieldKind = "text" | "number" | "integer" | "boolean" | "choice";

export interface AnswerField {
  /** Of the property; empty where the answer is one value. */
  readonly name: string;
  readonly kind: FieldKind;
  readonly label: string;
  readonly required: boolean;
  readonly choices: readonly string[];
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  readonly longest?: number | undefined;
  readonly initial?: unknown;
}

type Schema = Readonly<Record<string, unknown>>;

const mostFields = 40;

/** Undefined: it takes more than a form. */
export function answerFields(schema: Schema): readonly AnswerField[] | undefined {
  const single = fieldOf("", schema, true);
  if (single !== undefined) return [single];
  const { type, properties } = schema;
  if (type !== "object" || typeof properties !== "object" || properties === null) return undefined;
  const required = Array.isArray(schema["required"]) ? (schema["required"] as readonly unknown[]) : [];
  const fields = Object.entries(properties as Readonly<Record<string, Schema>>).map(([name, of]) =>
    fieldOf(name, of, required.includes(name)),
  );
  const isWhole = fields.length > 0 && fields.length <= mostFields && fields.every((field) => field !== undefined);
  return isWhole ? fields : undefined;
}

function fieldOf(name: string, schema: Schema, required: boolean): AnswerField | undefined {
  if (typeof schema !== "object" || schema === null) return undefined;
  const { type, description, title, minimum, maximum, maxLength } = schema;
  const choices = choicesOf(schema);
  const kind = choices === undefined ? kinds[String(type)] : "choice";
  if (kind === undefined) return undefined;
  const label = typeof title === "string" ? title : typeof description === "string" ? description : name;
  const figure = (value: unknown): number | undefined => (typeof value === "number" && Math.abs(value) < 1e15 ? value : undefined);
  return {
    ...{ name, kind, label, required, choices: choices ?? [], initial: schema["default"] },
    ...{ min: figure(minimum), max: figure(maximum), longest: figure(maxLength) },
  };
}

const kinds: Readonly<Record<string, FieldKind>> = { string: "text", number: "number", integer: "integer", boolean: "boolean" };

/** An enum of texts, or one of several constants. */
function choicesOf(schema: Schema): readonly string[] | undefined {
  const listed =
    schema["enum"] ?? (Array.isArray(schema["anyOf"]) ? (schema["anyOf"] as readonly Schema[]).map((one) => one?.["const"]) : undefined);
  if (!Array.isArray(listed) || listed.length === 0 || listed.length > 100) return undefined;
  return listed.every((one) => typeof one === "string") ? (listed as readonly string[]) : undefined;
}

export type Given = Readonly<Record<string, string | boolean>>;

export type Answer = { readonly answer: unknown } | { readonly problem: string };

/** What the form says, as a value. What may be left out and was is not in it. */
export function answerOf(fields: readonly AnswerField[], given: Given): Answer {
  const values: [string, unknown][] = [];
  for (const field of fields) {
    const value = givenValue(field, given[field.name]);
    if (value === undefined) {
      if (field.required) return { problem: `${field.label === "" ? "The answer" : field.label} is missing.` };
      continue;
    }
    if (typeof value === "number" && Number.isNaN(value)) return { problem: `${field.label} is not a number.` };
    values.push([field.name, value]);
  }
  const [first] = fields;
  return { answer: fields.length === 1 && first?.name === "" ? values[0]?.[1] : Object.fromEntries(values) };
}

function givenValue({ kind, required }: AnswerField, given: string | boolean | undefined): unknown {
  if (kind === "boolean") return given === undefined ? undefined : given === true || given === "true";
  if (given === undefined || given === "") return kind === "text" && required ? given : undefined;
  if (kind !== "number" && kind !== "integer") return given;
  const value = Number(given);
  return kind === "integer" && !Number.isInteger(value) ? Number.NaN : value;
}
