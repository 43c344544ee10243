/** Structured output: the schema a model is shown, and the value made of what it answered. */
import type { StandardSchema } from "../session/session.ts";
import { textOfThrown } from "../session/views.ts";
import { unfenced } from "../tool/input.ts";
import { invalid } from "./options.ts";

interface Convertible {
  readonly "~standard": {
    readonly vendor: string;
    readonly jsonSchema?: { readonly output?: (options: { readonly target: string }) => Record<string, unknown> };
  };
}

interface Result {
  readonly value?: unknown;
  readonly issues?: readonly { readonly message: string; readonly path?: readonly unknown[] }[];
}

/** JSON Schema of an agent's output. */
export function outputSchemaOf(schema: StandardSchema<unknown, unknown>, agent: string): object {
  const standard = (schema as Convertible | undefined)?.["~standard"];
  const convert = standard?.jsonSchema?.output;
  if (convert === undefined)
    throw invalid(
      agent,
      `has an output schema${standard === undefined ? "" : ` of "${standard.vendor}"`} that cannot give JSON Schema: use zod 4.2 or newer`,
    );
  try {
    const { $schema: _, ...rest } = convert({ target: "draft-2020-12" });
    return rest;
  } catch (cause) {
    throw invalid(agent, `has an output schema that cannot be written as JSON Schema (${textOfThrown(cause)})`);
  }
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
  let result: Result;
  try {
    result = (await schema["~standard"].validate(parsed)) as Result;
  } catch (error) {
    return { problem: textOfThrown(error) }; // a schema that throws takes nothing
  }
  if (result.issues === undefined) return { value: result.value };
  return { problem: result.issues.map(({ path = [], message }) => `${path.map(pathPart).join(".") || "answer"}: ${message}`).join("; ") };
}

function pathPart(part: unknown): string {
  return typeof part === "object" && part !== null && "key" in part ? String(part.key) : String(part);
}
