/** The answer a question expects: as JSON Schema for whoever shows it, and as a function that takes an answer or refuses it. */
import { RathError } from "./errors.ts";
import type { Schema } from "./session.ts";
import { jsonSchemaOf, type Standard, standardOf, toValidated } from "./standard-schema.ts";
import { textOfThrown } from "./thrown.ts";

/** A plain question is answered in words. A schema that cannot be shown still checks. */
export function answerSchemaOf(schema: Schema | undefined): object {
  if (schema === undefined) return { type: "string" };
  const standard = standardOf(schema);
  if (standard === undefined) return schema;
  try {
    return jsonSchemaOf(standard, "output") ?? {};
  } catch (cause) {
    const problem = `The schema of the answer cannot be written as JSON Schema (${textOfThrown(cause)}): use types that JSON has.`;
    throw new RathError("value.unsupported", problem, { cause, details: { field: "answer" } });
  }
}

export function accepting(schema: Schema | undefined): (answer: unknown) => unknown {
  return async (answer) => {
    if (schema === undefined) {
      if (typeof answer !== "string") throw invalid("expected a string");
      return answer;
    }
    const standard = standardOf(schema);
    if (standard === undefined) return answer;
    const result = toValidated(await standard["~standard"].validate(answer), "answer");
    if ("problems" in result) throw invalid(result.problems.join("; "));
    return result.value;
  };
}

/** Takes the data of a signal. Its sender could not know the schema, so a plain JSON Schema is checked here as well. */
export function receiving(schema: Schema | undefined): (data: unknown) => unknown {
  return async (data) => {
    if (schema === undefined) return data;
    const standard = standardOf(schema) ?? (await jsonSchema(schema));
    const result = toValidated(await standard["~standard"].validate(data), "data");
    if ("problems" in result) throw new RathError("value.unsupported", `The signal does not fit: ${result.problems.join("; ")}.`);
    return result.value;
  };
}

/** zod costs most of a start: it is loaded when somebody needs it. */
async function jsonSchema(schema: object): Promise<Standard> {
  const { z } = await import("zod");
  return z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]) as unknown as Standard;
}

function invalid(problem: string): RathError {
  return new RathError("pending.invalid-answer", `The answer does not fit the question: ${problem}.`);
}
