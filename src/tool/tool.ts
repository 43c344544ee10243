/** Tools: typed functions that a model or a program can call. What happens around the call is in tool-call.ts. */
import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import { durationMs } from "../session/duration.ts";
import { RathError } from "../session/errors.ts";
import { givenDuration, givenFunction, givenOptions, givenRepeat, givenText, shown, unsupported } from "../session/given.ts";
import type { Duration, EffectContext, Infer, InferInput, Repeat, Schema, Tool, ToolContext, ToolDeclaration } from "../session/session.ts";
import { standardOf } from "../session/standard-schema.ts";
import { checkable, inputSchemaOf, validating } from "./schema.ts";

/** What `tool()` is given. */
export interface ToolOptions<S extends Schema, Output> {
  readonly name: string;
  readonly description: string;
  /** zod, another Standard Schema that can give JSON Schema, or a JSON Schema object. */
  readonly input: S;
  readonly run: (input: Infer<S>, context: ToolContext) => Output | Promise<Output>;
  /** What a crash may do: see `Session.do`. Default: "safe" for tools that write nothing, by placement for those that write files, else "once". */
  readonly repeat?: Repeat | undefined;
  /** What it may change. Default: "world". */
  readonly writes?: "nothing" | "files" | "world" | undefined;
  /** Calls of one round with the same one run one after the other; "*" runs alone. An input that a person changes keeps its place in the order. */
  readonly resource?: ((input: Infer<S>) => string) | undefined;
  /** A person must say yes first. A function says so at once: where it throws or gives no boolean, the call is denied. */
  readonly needsApproval?: boolean | ((input: Infer<S>) => boolean) | undefined;
  /** How long a person has to say yes, from the call; then it is not made. Default: as long as the run. */
  readonly approvalExpires?: Duration | undefined;
  /** How long an attempt may take; then its signal is aborted. */
  readonly timeout?: Duration | undefined;
  /** How often a failing "safe" or "keyed" tool is tried. */
  readonly retry?: { readonly attempts?: number | undefined } | undefined;
  /** After a crash, asked before a person is: what became of the call with this key? */
  readonly probe?:
    | ((
        key: string,
        context: EffectContext,
      ) => Promise<{ readonly happened: false } | { readonly happened: true; readonly output: Output } | undefined>)
    | undefined;
}

const fields = [
  ...(["name", "description", "input", "run", "repeat", "writes"] as const),
  ...(["resource", "needsApproval", "approvalExpires", "timeout", "retry", "probe"] as const),
];

/**
 * Makes a tool of a function. Its input is validated before `run`; what it returns, throws or is refused becomes a recorded result.
 *
 * @example
 * const weather = tool({
 *   name: "get_weather",
 *   description: "Current weather of a city.",
 *   input: z.object({ city: z.string() }),
 *   repeat: "safe",
 *   run: async ({ city }, { signal }) => (await fetch(`https://weather.test/${city}`, { signal })).json(),
 * });
 */
export function tool<S extends Schema, Output>(options: ToolOptions<S, Output>): Tool<InferInput<S>, Output> {
  const made = ownTool(options);
  if (standardOf(options.input) === undefined) checkable(made.name, made["~tool"].schema);
  return made;
}

/** The same for our own tools, made when they are imported: their JSON Schemas need no look, for which zod would be loaded. */
export function ownTool<S extends Schema, Output>(options: ToolOptions<S, Output>): Tool<InferInput<S>, Output> {
  const { name, description, run, writes = "world" } = options;
  checkName(name);
  givenOptions<ToolOptions<S, Output>>(options, fields, `tool "${name}"`);
  if (!["nothing", "files", "world"].includes(writes))
    throw new RathError("value.unsupported", `writes of tool "${name}" is ${JSON.stringify(writes)}: give "nothing", "files" or "world".`);
  givenText(description, `the description of tool "${name}"`);
  givenFunction(run, `run of tool "${name}"`);
  const repeat = givenRepeat(options.repeat ?? (writes === "nothing" ? "safe" : "once"));
  const schema = inputSchemaOf(name, options.input);
  const { needsApproval } = options;
  if (needsApproval !== undefined && typeof needsApproval !== "boolean" && typeof needsApproval !== "function")
    throw unsupported(`needsApproval of tool "${name}"`, `is ${shown(needsApproval)}`, "give true, false or a function");
  const declaration: ToolDeclaration = {
    schema,
    revision: toolRevision(name, description, schema),
    writes,
    repeatByPlacement: writes === "files" && options.repeat === undefined ? true : undefined,
    validate: validating(options.input, schema),
    resource: options.resource as ToolDeclaration["resource"],
    needsApproval: (typeof needsApproval === "boolean" ? () => needsApproval : needsApproval) as ToolDeclaration["needsApproval"],
    approvalExpires: options.approvalExpires === undefined ? undefined : givenDuration(options.approvalExpires),
    timeoutMs: options.timeout === undefined ? undefined : durationMs(options.timeout),
    attempts: options.retry?.attempts,
    probe: options.probe,
  };
  return Object.freeze({
    name,
    description,
    repeat,
    "~run": async (input: InferInput<S>, context: ToolContext) => run(input as Infer<S>, context),
    "~tool": Object.freeze(declaration),
  });
}

/** The names that every provider takes. */
const names = /^[a-zA-Z0-9_-]{1,64}$/;

function checkName(name: unknown): void {
  if (typeof name === "string" && names.test(name)) return;
  throw new RathError(
    "tool.invalid",
    `${JSON.stringify(name)} is no name for a tool: use 1 to 64 letters, digits, "_" and "-", which every provider takes.`,
  );
}

/** Digest of what a model sees of a tool. */
export function toolRevision(name: string, description: string, schema: object): string {
  const text = canonicalize({ description, name, schema }) ?? "";
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}
