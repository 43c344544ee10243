/** The answer a question expects: as JSON Schema for whoever shows it, and as a function that takes an answer or refuses it. */
import { RathError } from "./errors.ts";
import type { Schema } from "./session.ts";

interface WithJsonSchema {
  readonly "~standard": {
    readonly vendor: string;
    readonly validate: (value: unknown) => unknown;
    readonly jsonSchema?: { readonly output?: (options: { readonly target: string }) => Record<string, unknown> };
  };
}

/** A plain question is answered in words. */
export function jsonSchemaOf(schema: Schema | undefined): object {
  if (schema === undefined) return { type: "string" };
  if (!isStandard(schema)) return schema;
  const convert = schema["~standard"].jsonSchema?.output;
  if (convert === undefined) return {};
  const { $schema: _, ...rest } = convert({ target: "draft-2020-12" });
  return rest;
}

export function accepting(schema: Schema | undefined): (answer: unknown) => unknown {
  return async (answer) => {
    if (schema === undefined) {
      if (typeof answer !== "string") throw invalid("expected a string");
      return answer;
    }
    if (!isStandard(schema)) return answer;
    const result = (await schema["~standard"].validate(answer)) as {
      readonly value?: unknown;
      readonly issues?: readonly { readonly message: string; readonly path?: readonly unknown[] }[];
    };
    if (result.issues !== undefined)
      throw invalid(result.issues.map((issue) => `${(issue.path ?? []).map(String).join(".") || "answer"}: ${issue.message}`).join("; "));
    return result.value;
  };
}

function isStandard(schema: Schema): schema is Schema & WithJsonSchema {
  return "~standard" in schema && schema["~standard"] !== undefined;
}

function invalid(problem: string): RathError {
  return new RathError("pending.invalid-answer", `The answer does not fit the question: ${problem}.`);
}
