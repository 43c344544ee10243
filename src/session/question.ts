/** The answer a question expects: as JSON Schema for whoever shows it, and as a function that takes an answer or refuses it. */
import { RathError } from "./errors.ts";
import type { Schema } from "./session.ts";
import { jsonSchemaOf, standardOf, toValidated } from "./standard-schema.ts";
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

function invalid(problem: string): RathError {
  return new RathError("pending.invalid-answer", `The answer does not fit the question: ${problem}.`);
}
