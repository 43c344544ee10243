/**
 * An Agent is a Workflow: instructions, a model and tools. It owns no history; the session it is given has it.
 * This door also has the types around agents, workflows and tools, for people who must name them.
 */
import { type ModelLike, modelName } from "../session/model.ts";
import type { Session, Tool } from "../session/session.ts";
import { type AgentSketch, leaveUnnamed, ownName, sketch } from "../workflow/children.ts";
import { Workflow } from "../workflow/workflow.ts";
import { policyModels, policyText } from "./context/policy.ts";
import type { Handoff } from "./handoff.ts";
import { converse } from "./loop.ts";
import { memoryOf, memoryToolsOf } from "./memory.ts";
import { type AgentOptions, checkOptions } from "./options.ts";
import { outputSchemaOf } from "./output.ts";

export type { Limits } from "../session/session.ts";
export type { MemoryCandidate, MemoryPolicy } from "../tool/memory-policy.ts";
export type { Policy } from "../tool/policy.ts";
export type { ToolOptions } from "../tool/tool.ts";
export type { Composed, Flow } from "../workflow/combinators.ts";
export type { Description } from "../workflow/describe.ts";
export type { Described, OutputOf, Workflow } from "../workflow/workflow.ts";
export type { CompressorOptions } from "./compressor.ts";
export type { ContextChoice, ContextEntry, ContextFunction, ContextPolicy } from "./context/policy.ts";
export type { Extracted, ExtractorOptions, Proposal } from "./extractor.ts";
export type { Handoff } from "./handoff.ts";
export type { AgentMemory, AgentOptions, HookAnswer, Hooks } from "./options.ts";
export type { Choice, Chosen, SelectorOptions } from "./selector.ts";
export type { ModelLike };

/**
 * Asks its model, runs the tools it calls, and goes on until the model has answered. Returns a session with a `stop` reason;
 * `session.output` is the answer when that is "finished".
 *
 * @example
 * const greeter = new Agent({ model: "openai/gpt-5.5", instructions: "Answer in one sentence." });
 * const session = await greeter.forward(rath.session("What is a session?"));
 * console.log(session.text, session.usage.usd);
 */
export class Agent<Output = string> extends Workflow {
  readonly name: string;
  readonly description: string;
  readonly #options: AgentOptions<Output>;

  constructor(options: AgentOptions<Output>) {
    const name = options?.name ?? "agent";
    checkOptions((options ?? {}) as AgentOptions<never>, name);
    // Its rounds are its own; a limit on rounds from outside holds for each agent under it.
    const { rounds: _, ...limits } = options.limits ?? {};
    super(options.limits === undefined ? undefined : limits);
    this.name = name;
    this.description = options.description ?? "";
    this.#options = options;
    if (options.output !== undefined) outputSchemaOf(options.output, name);
    if (options.name === undefined) leaveUnnamed(this);
  }

  forward(session: Session): Promise<Session<Output>> {
    return converse(this.#options, session, this.name) as Promise<Session<Output>>;
  }

  /** The same agent with some things changed. */
  with(changes: Partial<AgentOptions<Output>>): Agent<Output> {
    return new Agent({ ...this.#options, ...changes });
  }

  /** What a description of it holds. */
  [sketch](): AgentSketch {
    const { model, tools = [], instructions, settings, output, limits, memory, handoffs = [], context } = this.#options;
    const models = Array.isArray(model) ? (model as readonly ModelLike[]) : [model as ModelLike];
    return {
      models: [...models, ...policyModels(context)],
      uses: [...tools, ...memoryToolsOf(memory)],
      children: reached(tools, handoffs),
      detail: {
        models: models.map(modelName),
        instructions: typeof instructions === "function" ? String(instructions) : (instructions ?? ""),
        tools: tools.map((tool: Tool) => ({ name: tool.name, revision: tool["~tool"].revision })),
        settings: JSON.parse(JSON.stringify(settings ?? {})) as object,
        output: output === undefined ? null : outputSchemaOf(output, this.name),
        limits: JSON.parse(JSON.stringify(limits ?? {})) as object,
        handoffs: handoffs.map((handoff) => handoff.name),
        ...(context === undefined ? {} : { context: policyText(context) }),
        ...(memory === undefined ? {} : { memory: memoryOf(memory) }),
      },
    };
  }

  override toString(): string {
    return `Agent ${this.name}`;
  }
}

/** Workflows behind tools and handoffs, under the names they act by. */
function reached(tools: readonly Tool[], handoffs: readonly Handoff[]): Readonly<Record<string, object>> {
  const found: Record<string, object> = Object.fromEntries(handoffs.map((handoff) => [handoff.name, handoff]));
  for (const { name, "~tool": declared } of tools) {
    const { workflow } = declared;
    if (workflow === undefined) continue;
    const own = ownName(workflow) ?? name;
    found[own in found && found[own] !== workflow ? name : own] = workflow;
  }
  return found;
}
