/** Structured output: the schema a model is shown, and the value made of what it answered. */
import type { StandardSchema, Validated } from "../session/session.ts";
import { jsonSchemaOf, type Standard, standardOf, toValidated } from "../session/standard-schema.ts";
import { textOfThrown } from "../session/thrown.ts";
import { lossIn, unfenced } from "../tool/input.ts";
import { invalid } from "./options.ts";

/** JSON Schema of an agent's output. */
export function outputSchemaOf(schema: StandardSchema<unknown, unknown>, agent: string): object {
  const standard = standardOf(schema ?? {});
  if (standard === undefined)
    throw invalid(
      agent,
      "has an output that is no Standard Schema: give one of zod 4.2 or newer; of a JSON Schema, give z.fromJSONSchema(schema)",
    );
  try {
    const json = jsonSchemaOf(standard, "output");
    if (json !== undefined) return json;
  } catch (cause) {
    throw invalid(agent, `has an output schema that cannot be written as JSON Schema (${textOfThrown(cause)}): use types that JSON has`);
  }
  const { vendor } = standard["~standard"];
  throw invalid(agent, `has an output schema of "${vendor}" that cannot give JSON Schema: use zod 4.2 or newer`);
}

/** The value that an answer stands for, or what is wrong with it, in words a model can act on. */
export async function readOutput(
  schema: StandardSchema<unknown, unknown>,
  text: string,
): Promise<{ readonly value: unknown } | { readonly problem: string }> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(unfenced(text));
  } catch {
    return { problem: "it is not JSON" };
  }
  const loss = lossIn(unfenced(text));
  if (loss !== undefined) return { problem: loss };
  let result: Validated;
  try {
    result = toValidated(await (schema as Standard)["~standard"].validate(parsed), "answer");
  } catch (error) {
    return { problem: textOfThrown(error) }; // a schema that throws takes nothing
  }
  return "problems" in result ? { problem: result.problems.join("; ") } : result;
}
