/** What an agent's model reads before each round: its policy first, and then whether it fits into the model at all. */
import { EffectResult } from "../../session/host.ts";
import type { Node } from "../../session/log.ts";
import { type ModelLike, modelName } from "../../session/model.ts";
import type { Session } from "../../session/session.ts";
import { tokensOf, tokensOfMessage } from "../../session/tokens.ts";
import { placeOf } from "../../session/value.ts";
import type { Ready } from "../hooks.ts";
import type { AgentOptions } from "../options.ts";
import { applyPolicy } from "./apply.ts";
import { tokensRead } from "./measure.ts";
import type { Converse } from "./summarise.ts";

/** What says that a request was too long to be asked. */
export const tooLong = "context.too-long";

type Given = Pick<Ready, "instructions" | "offered" | "output">;

/** One agent at work. */
export class Fitting {
  readonly #options: AgentOptions<unknown>;
  readonly #name: string;
  readonly #converse: Converse;
  readonly #likes: readonly ModelLike[];
  /** A summary that came to nothing is not asked for again before there is more to summarise. */
  #notBefore = 0;
  #problem: string | undefined;
  readonly #looked = new WeakSet<Node>();
  #known: { readonly of: readonly unknown[]; readonly tokens: number } | undefined;

  constructor(options: AgentOptions<unknown>, name: string, converse: Converse) {
    this.#options = options;
    this.#name = name;
    this.#converse = converse;
    this.#likes = Array.isArray(options.model) ? (options.model as readonly ModelLike[]) : [options.model as ModelLike];
  }

  /** The session as the model is to read it. */
  async fit(session: Session, given: Given): Promise<Session> {
    const { context: policy, settings } = this.#options;
    if (policy === undefined) return session;
    const [window] = this.#windows(session);
    const limit = window === undefined ? undefined : window - (settings?.maxOutputTokens ?? 0);
    const around = { fixed: this.#fixed(given), counts: this.#counts };
    const summarises = typeof policy === "object" && "summariseAt" in policy;
    if (this.#notBefore > 0) {
      const tokens = tokensRead(session, around);
      if (tokens < this.#notBefore && tokens <= (limit ?? Number.POSITIVE_INFINITY)) return session;
    }
    const { model, retry } = this.#options;
    const summariser = { model, retry, converse: this.#converse };
    const applied = await applyPolicy(session, policy, {
      ...around,
      agent: this.#name,
      summariser,
      limit,
      looked: this.#looked,
      now: false,
    });
    this.#problem = applied.problem;
    if (summarises)
      this.#notBefore = applied.problem === undefined ? 0 : Math.ceil(tokensRead(applied.session, around) + policy.summariseAt / 4);
    return applied.session;
  }

  /** Why a model cannot be asked this: none of those there are reads so much. */
  refusal(ready: Ready): EffectResult | undefined {
    const windows = this.#windows(ready.session);
    if (windows.length === 0 || windows.includes(undefined)) return undefined;
    const most = Math.max(...(windows as readonly number[]));
    const fixed = this.#fixed(ready);
    const tokens =
      ready.messages === undefined
        ? tokensRead(ready.session, { fixed, counts: this.#counts })
        : ready.messages.reduce((sum, message) => sum + tokensOfMessage(message), fixed);
    const answer = ready.settings.maxOutputTokens ?? 0;
    if (tokens + answer <= most) return undefined;
    const model = this.#likes[windows.indexOf(most)] as ModelLike;
    return new EffectResult("denied", { name: tooLong, reason: this.#reason(tokens, answer, most, modelName(model)) });
  }

  #reason(tokens: number, answer: number, most: number, model: string): string {
    const room = answer === 0 ? "" : ` and ${answer} are asked for the answer`;
    const what = `the request has about ${tokens} tokens${room}, and ${model} reads ${most}`;
    const { context: policy } = this.#options;
    if (this.#problem !== undefined) return `${what}; it could not be summarised: ${this.#problem}`;
    const half = Math.max(1, Math.floor(most / 2));
    if (policy === undefined || policy === "full")
      return `${what}: give the agent context: { summariseAt: ${half} } or { window: ${half} }, or a model that reads more`;
    const trims = typeof policy === "object" && "trimResults" in policy;
    return `${what}; its context policy leaves that much: shorten ${trims ? "the messages" : "the newest message or results"}, the instructions or the tools${trims ? ", or use context: { summariseAt }" : ", or use context: { trimResults }"}, or take a model that reads more`;
  }

  /** What the models read at most, in their order. */
  #windows(session: Session): readonly (number | undefined)[] {
    const { host } = placeOf(session).context;
    return this.#likes.map((like) => host.contextWindow(like));
  }

  /** A hook may send something else than the log holds. */
  get #counts(): boolean {
    return this.#options.hooks?.beforeModel === undefined;
  }

  /** Instructions, tools and output schema, estimated once. */
  #fixed({ instructions, offered, output }: Given): number {
    const of = [instructions, offered, output];
    if (this.#known === undefined || of.some((part, index) => part !== this.#known?.of[index]))
      this.#known = { of, tokens: tokensOf(instructions) + tokensOf(JSON.stringify([offered, output ?? null])) };
    return this.#known.tokens;
  }
}
