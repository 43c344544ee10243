/** What an agent is given, checked when it is made: what is wrong is said before anything is spent. */
import { durationMs } from "../session/duration.ts";
import { RathError } from "../session/errors.ts";
import { kindOf, shown } from "../session/given.ts";
import { isScope, memoryScopes, mostHits } from "../session/given-memory.ts";
import type { ModelRequest, ModelSettings } from "../session/message.ts";
import { isModelLike, type ModelLike, modelWanted } from "../session/model.ts";
import type { Duration, Limits, MemoryScope, Session, StandardSchema, Tool, ToolCall } from "../session/session.ts";
import { type ContextPolicy, checkPolicy } from "./context/policy.ts";
import { type Handoff, handoffName } from "./handoff.ts";

/** What an agent is made of. */
export interface AgentOptions<Output = string> {
  /** A model, or several to fall back on in this order. */
  readonly model: ModelLike | readonly ModelLike[];
  /** How it is called in `by`, in handoffs and on record. Default: the property it is found under. */
  readonly name?: string | undefined;
  /** What it is for, in one sentence: for whoever chooses among agents. */
  readonly description?: string | undefined;
  /** What it is told first; a function is called once when the agent is entered, and what it gave is recorded. */
  readonly instructions?: string | ((session: Session) => string | Promise<string>) | undefined;
  /** What its model may call, each name once. */
  readonly tools?: readonly Tool[] | undefined;
  /** Agents it may hand the session over to. */
  readonly handoffs?: readonly Handoff[] | undefined;
  /** What it recalls and may remember. */
  readonly memory?: AgentMemory | undefined;
  /** What its model reads of a long conversation. Default: all that the session it is given reads. */
  readonly context?: ContextPolicy | undefined;
  /** Makes `session.output` a value of this schema instead of text. */
  readonly output?: StandardSchema<unknown, Output> | undefined;
  /** Over this agent and everything under it. `rounds` counts its model calls; 100 when not given. */
  readonly limits?: Limits | undefined;
  /** Temperature and the like, for every call of the model. */
  readonly settings?: ModelSettings | undefined;
  /** How often a model call is tried before the next model is, and how long it may be silent. */
  readonly retry?: { readonly attempts?: number | undefined; readonly timeout?: Duration | undefined } | undefined;
  /** Calls for which a person must say yes. It says so at once: where it throws or gives no boolean, the call is denied. */
  readonly needsApproval?: ((call: { readonly tool: string; readonly input: unknown }) => boolean) | undefined;
  /** Functions around its model and tool calls. */
  readonly hooks?: Hooks | undefined;
}

/**
 * How an agent uses memory. What was recalled is data to its model, with how far it can be trusted. A memory that fails ends the
 * agent with the stop "error": it would answer as if there were nothing to know.
 *
 * @example
 * const helper = new Agent({ model: "openai/gpt-5.5", memory: { scope: "user", remember: "tool" } });
 * const answered = await helper.forward(rath.session("Which editor do I use?"));
 * for (const { key, trust, recall } of answered.memory.reads) console.log(key, trust, recall.injected);
 */
export interface AgentMemory {
  /** "before" (default): what fits the newest message is given to the model when the agent is entered. "tool": the model asks for it. */
  readonly recall?: "before" | "tool" | "never" | undefined;
  /** "tool" lets the model remember; "never" is the default. */
  readonly remember?: "tool" | "never" | undefined;
  /** Whose memory; default: all that the session may see are recalled, and the project's is written. */
  readonly scope?: MemoryScope | undefined;
  /** At most so many tokens of recalled text for one turn; 1000 when not given. */
  readonly tokens?: number | undefined;
  /** At most so many items; 5 when not given. */
  readonly limit?: number | undefined;
}

/** What a hook gives, at once or later; nothing lets things be. */
export type HookAnswer<T> = T | undefined | Promise<T | undefined>;

/** Functions around model and tool calls. They may change or refuse; what they gave is recorded and taken from the record on resume. */
export interface Hooks {
  /** Before each model call: another request, a refusal, or undefined to let it be. */
  beforeModel?(request: ModelRequest): HookAnswer<ModelRequest | { readonly refuse: string }>;
  /** Before each tool call: another input, a refusal the model reads, or undefined. */
  beforeTool?(call: {
    readonly tool: string;
    readonly input: unknown;
  }): HookAnswer<{ readonly input: unknown } | { readonly refuse: string }>;
  /** After each tool call: another value for the model to read, or undefined. What the tool gave is kept. */
  afterTool?(call: Omit<ToolCall, "event">): HookAnswer<{ readonly value: unknown }>;
}

/** Throws `agent.invalid` for options that cannot work. */
export function checkOptions(options: AgentOptions<never>, name: string): void {
  refuseUnknown(name, "an option", Object.keys(options), known);
  if (options.hooks !== undefined) checkHooks(name, options.hooks);
  const { instructions, needsApproval } = options;
  if (instructions !== undefined && typeof instructions !== "string" && typeof instructions !== "function")
    throw invalid(name, `has instructions that are ${kindOf(instructions)}: give a string, or a function that gives one`);
  if (needsApproval !== undefined && typeof needsApproval !== "function")
    throw invalid(name, `has needsApproval ${shown(needsApproval)}: give a function`);
  for (const list of ["tools", "handoffs"] as const)
    if (options[list] !== undefined && !Array.isArray(options[list]))
      throw invalid(name, `has ${list} that are no list: write ${list}: [a, b]`);
  const models = Array.isArray(options.model) ? (options.model as readonly unknown[]) : [options.model];
  if (options.model === undefined || options.model === null || models.length === 0)
    throw invalid(name, 'has no model: give one, like model: "openai/gpt-5.5" or model: scripted("hello")');
  for (const model of models) checkModel(name, model);
  const names = new Set<string>();
  for (const tool of options.tools ?? []) {
    if (tool?.["~tool"] === undefined) throw invalid(name, "has a tool that is none: make it with tool(), asTool() or mcp()");
    if (names.has(tool.name)) throw invalid(name, `has two tools named "${tool.name}": rename one, since a model calls them by name`);
    names.add(tool.name);
  }
  for (const handoff of options.handoffs ?? []) {
    const transfer = handoffName(handoff);
    if (typeof handoff.description !== "string" || handoff.description === "")
      throw invalid(name, `hands over to "${handoff.name}", which has no description: say what it is for`);
    if (names.has(transfer)) throw invalid(name, `has two tools named "${transfer}": give the agents it hands over to different names`);
    names.add(transfer);
  }
  if (options.memory !== undefined) checkMemory(name, options.memory, names);
  const rounds = options.limits?.rounds;
  if (rounds !== undefined && !(Number.isInteger(rounds) && rounds >= 1))
    throw invalid(name, `has limits.rounds ${rounds}: give a whole number from 1`);
  const problem = problemOfSettings(options.settings) ?? problemOf("retry", options.retry, retryFields);
  if (problem !== undefined) throw invalid(name, problem);
  if (options.context !== undefined) checkPolicy(options.context, (problem) => invalid(name, problem));
}

const known: Readonly<Record<keyof AgentOptions, true>> = {
  model: true,
  name: true,
  description: true,
  instructions: true,
  tools: true,
  handoffs: true,
  memory: true,
  context: true,
  output: true,
  limits: true,
  settings: true,
  retry: true,
  needsApproval: true,
  hooks: true,
};
const knownMemory: Readonly<Record<keyof AgentMemory, true>> = { recall: true, remember: true, scope: true, tokens: true, limit: true };
const knownHooks: Readonly<Record<keyof Hooks, true>> = { beforeModel: true, beforeTool: true, afterTool: true };

/** What a field takes, and how that is said. */
type Field = readonly [takes: (value: unknown) => boolean, wanted: string];

const isCount = (value: unknown): boolean => Number.isInteger(value) && (value as number) >= 1;
const isObject = (value: unknown): value is object => typeof value === "object" && value !== null && !Array.isArray(value);
const toolChoices: readonly unknown[] = ["auto", "none", "required"];
const efforts: readonly unknown[] = ["none", "low", "medium", "high"];

const settingFields: Readonly<Record<keyof ModelSettings, Field>> = {
  temperature: [Number.isFinite, "a finite number"],
  maxOutputTokens: [isCount, "a whole number from 1"],
  seed: [Number.isInteger, "a whole number"],
  toolChoice: [
    (value) => toolChoices.includes(value) || (isObject(value) && typeof (value as { tool?: unknown }).tool === "string"),
    `one of ${toolChoices.join(", ")}, or { tool: name }`,
  ],
  reasoning: [(value) => efforts.includes(value), `one of ${efforts.join(", ")}`],
  providerOptions: [
    (value) => isObject(value) && Object.values(value).every(isObject),
    'an object for each provider, like { openai: { user: "ada" } }',
  ],
};
const retryFields: Readonly<Record<keyof NonNullable<AgentOptions["retry"]>, Field>> = {
  attempts: [isCount, "a whole number from 1"],
  timeout: [(value) => durationMs(value as Duration) >= 0, "a duration"],
};

/** What is wrong with settings, wherever they come from. */
export function problemOfSettings(given: unknown): string | undefined {
  return problemOf("settings", given, settingFields);
}

/** One that is misspelt, or of another type, would be left out in silence. */
function problemOf(option: "settings" | "retry", given: unknown, fields: Readonly<Record<string, Field>>): string | undefined {
  if (given === undefined) return undefined;
  if (!isObject(given)) return `has no object as ${option}: give one with ${Object.keys(fields).join(", ")}`;
  const unknown = unknownOption(`an option of ${option}`, Object.keys(given), fields);
  if (unknown !== undefined) return unknown;
  for (const [field, value] of Object.entries(given) as [string, unknown][]) {
    const [takes, wanted] = fields[field] as Field;
    if (value !== undefined && !takes(value)) return `has ${option}.${field} ${shown(value)}: give ${wanted}`;
  }
  return undefined;
}

/** An object of one's own may have fields beside its hooks, and get them from its class. */
function checkHooks(name: string, hooks: Hooks): void {
  if (!isObject(hooks)) throw invalid(name, `has no object as hooks: give one with ${Object.keys(knownHooks).join(", ")}`);
  const own = Object.entries(hooks).filter(([, value]) => typeof value === "function");
  refuseUnknown(
    name,
    "a hook",
    own.map(([hook]) => hook),
    knownHooks,
  );
  for (const hook of Object.keys(knownHooks) as (keyof Hooks)[])
    if (hooks[hook] !== undefined && typeof hooks[hook] !== "function")
      throw invalid(name, `has hooks.${hook} ${shown(hooks[hook])}: give a function`);
}

/** The tools it adds are named like what they do. */
function checkMemory(name: string, memory: AgentMemory, tools: ReadonlySet<string>): void {
  if (typeof memory !== "object" || memory === null || Array.isArray(memory))
    throw invalid(name, `has memory that is no object: write memory: {} or memory: { scope: "user" }`);
  refuseUnknown(name, "a memory option", Object.keys(memory), knownMemory);
  const allowed = { recall: ["before", "tool", "never"], remember: ["tool", "never"] } as const;
  for (const field of ["recall", "remember"] as const) {
    const value = memory[field];
    if (value !== undefined && !(allowed[field] as readonly string[]).includes(value))
      throw invalid(name, `has memory.${field} ${JSON.stringify(value)}: give one of ${allowed[field].join(", ")}`);
    if (value === "tool" && tools.has(field))
      throw invalid(
        name,
        `has a tool named "${field}" beside memory.${field}: "tool", which adds one: rename it, or leave one of them out`,
      );
  }
  if (memory.scope !== undefined && !isScope(memory.scope))
    throw invalid(name, `has memory.scope ${JSON.stringify(memory.scope)}: give one of ${memoryScopes.join(", ")}`);
  for (const [field, most] of [
    ["tokens", Number.MAX_SAFE_INTEGER],
    ["limit", mostHits],
  ] as const) {
    const value = memory[field];
    if (value !== undefined && !(Number.isInteger(value) && value >= 1 && value <= most))
      throw invalid(name, `has memory.${field} ${value}: give a whole number from 1${most === mostHits ? ` to ${most}` : ""}`);
  }
}

/** A guard with a misspelt name would not guard, in silence. */
function refuseUnknown(name: string, what: string, given: readonly string[], there: object): void {
  const problem = unknownOption(what, given, there);
  if (problem !== undefined) throw invalid(name, problem);
}

/** What is said of the first name that is not there; undefined when all are. */
export function unknownOption(what: string, given: readonly string[], there: object): string | undefined {
  const extra = given.find((key) => !Object.hasOwn(there, key));
  return extra === undefined ? undefined : `has ${what} "${extra}" that is not known; there are: ${Object.keys(there).join(", ")}`;
}

function checkModel(name: string, model: unknown): void {
  if (isModelLike(model)) return;
  throw invalid(name, `has a model that is none (${shown(model)}): ${modelWanted(model)}`);
}

export function invalid(name: string, problem: string): RathError {
  return new RathError("agent.invalid", `Agent "${name}" ${problem}.`, { details: { agent: name } });
}
