/** Compressing as a workflow of its own: for whoever decides when a conversation is made shorter, or whole again. */
import { RathError } from "../session/errors.ts";
import { isModelLike, type ModelLike } from "../session/model.ts";
import type { Session } from "../session/session.ts";
import { type AgentSketch, leaveUnnamed, sketch } from "../workflow/children.ts";
import { Workflow } from "../workflow/workflow.ts";
import { applyPolicy } from "./context/apply.ts";
import { type ContextPolicy, checkPolicy, policyModels, policyText } from "./context/policy.ts";
import { converse } from "./loop.ts";
import { unknownOption } from "./options.ts";

/** What a Compressor is made of. */
export interface CompressorOptions {
  readonly policy: ContextPolicy;
  /** Summarises, where the policy names no model of its own. */
  readonly model?: ModelLike | undefined;
  /** How it is called in `by`. Default: the property it is found under. */
  readonly name?: string | undefined;
  /** What it is for, in one sentence: for whoever chooses among workflows. */
  readonly description?: string | undefined;
}

/**
 * Applies a context policy now, whatever its threshold: `summariseAt` summarises all but the newest `keep` tokens, and "full" undoes
 * every compression. Nothing is lost: `session.messages` keeps all, and `session.compressions` says what models no longer read.
 * After a summary, `session.text` is the summary. Rejects when the summary cannot be made; one that is not shorter than what it would
 * replace is not used, and a note says so.
 *
 * @example
 * const shorter = new Compressor({ policy: { summariseAt: 20_000, keep: 2000 }, model: "openai/gpt-5-mini" });
 * const shortened = await shorter.forward(session);
 * console.log(shortened.text, shortened.compressions.at(-1)?.tokens);
 * const whole = await new Compressor({ policy: "full" }).forward(shortened);
 */
export class Compressor extends Workflow {
  readonly name: string;
  readonly description: string;
  readonly #options: CompressorOptions;

  constructor(options: CompressorOptions) {
    const name = checkCompressor(options ?? {});
    super();
    this.name = name;
    this.description = options.description ?? "";
    this.#options = options;
    if (options.name === undefined) leaveUnnamed(this);
  }

  async forward(session: Session): Promise<Session> {
    const { policy, model } = this.#options;
    const summariser = { model: model ?? [], converse };
    const applied = await applyPolicy(session, policy, {
      agent: this.name,
      summariser,
      fixed: 0,
      counts: false,
      limit: undefined,
      now: true,
    });
    return applied.session;
  }

  /** What a description of it holds. */
  [sketch](): AgentSketch {
    const { policy, model } = this.#options;
    const models = policyModels(policy).length > 0 ? policyModels(policy) : model === undefined ? [] : [model];
    return { models, uses: [], children: {}, detail: { policy: policyText(policy) } };
  }

  override toString(): string {
    return `Compressor ${this.name}`;
  }
}

const known: Readonly<Record<keyof CompressorOptions, true>> = { policy: true, model: true, name: true, description: true };

/** Gives the name it has. */
function checkCompressor(options: CompressorOptions): string {
  const { policy, model, name = "compressor" } = options;
  const wrong = (problem: string): RathError => new RathError("agent.invalid", `Compressor "${String(name)}" ${problem}.`);
  const strange = unknownOption("an option", Object.keys(options), known);
  if (strange !== undefined) throw wrong(strange);
  if (typeof name !== "string" || name === "") throw wrong("has a name that is no text: leave it out, or give a word");
  checkPolicy(policy, wrong);
  if (model !== undefined && !isModelLike(model))
    throw wrong(`has a model that is none (${String(model)}): give "provider/model", an AI SDK model or a Model`);
  if (typeof policy === "object" && "summariseAt" in policy && (policy.model ?? model) === undefined)
    throw wrong('has no model to summarise with: give model: "provider/model"');
  return name;
}
