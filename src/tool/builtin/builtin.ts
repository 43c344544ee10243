/** How the built-in tools are made: JSON Schema for the input, so that no schema library is loaded, and its type beside it. */
import type { Tool, ToolContext } from "../../session/session.ts";
import { ownTool } from "../tool.ts";

interface BuiltinOptions<Input, Output> {
  readonly name: string;
  readonly description: string;
  /** JSON Schemas of the fields. */
  readonly properties: Readonly<Record<keyof Input & string, object>>;
  readonly required: readonly (keyof Input & string)[];
  readonly writes: "nothing" | "files";
  readonly resource?: ((input: Input) => string) | undefined;
  readonly run: (input: Input, context: ToolContext) => Promise<Output>;
}

export function builtin<Input, Output>({ properties, required, ...options }: BuiltinOptions<Input, Output>): Tool<Input, Output> {
  return ownTool<{ readonly type: "object" }, Output>({
    ...options,
    input: { type: "object", properties, required, additionalProperties: false } as { readonly type: "object" },
    // The schema is checked before either is called.
    resource: options.resource as ((input: unknown) => string) | undefined,
    run: options.run as (input: unknown, context: ToolContext) => Promise<Output>,
  });
}
