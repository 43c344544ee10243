/** The port of models. Adapters are in model/; an AI SDK provider object becomes one when a Rath resolves it. */
import { RathError } from "./errors.ts";
import { shown } from "./given.ts";
import type { ModelReply, ModelRequest } from "./message.ts";
import type { Session } from "./session.ts";

/** What a model's stream gives: deltas for whoever watches, then the whole reply. A stream that ends without one was cut. */
export type ModelPart =
  | { readonly type: "text-delta"; readonly text: string }
  | { readonly type: "reasoning-delta"; readonly text: string }
  | { readonly type: "call-delta"; readonly call: string; readonly tool: string; readonly text: string }
  | { readonly type: "reply"; readonly reply: ModelReply };

/** What is known beside the request: who asks, where, and how often it was asked before. */
export interface ModelOptions {
  readonly signal: AbortSignal;
  /** The session at the call; views only. */
  readonly session: Session;
  /** How many calls the agent made on this line before. */
  readonly turn: number;
  /** The path of the agent that asks. */
  readonly by: string;
}

/**
 * A model. `stream` is called once an attempt; a failure is thrown as a `RathError` with code `model.failed`, whose `retryable`
 * says whether another attempt makes sense and whose `details.retryAfterMs` says when.
 */
export interface Model {
  /** "provider/model", or any name for models of one's own. */
  readonly id: string;
  /** Costs nothing, unless `openrath({ prices })` names its id. */
  readonly free?: boolean | undefined;
  /** How many tokens it reads and writes at most in one call; nothing is checked when it is not given. */
  readonly contextWindow?: number | undefined;
  stream(request: ModelRequest, options: ModelOptions): AsyncIterable<ModelPart>;
}

/** What an AI SDK provider object looks like (V2, V3, V4), described by structure so that no peer's types are needed. */
export interface LanguageModel {
  readonly specificationVersion: "v2" | "v3" | "v4";
  readonly provider: string;
  readonly modelId: string;
  // biome-ignore lint/suspicious/noExplicitAny: the boundary to the providers' own types, which differ by version
  doStream(options: any): PromiseLike<any>;
}

/** "provider/model", an alias named in `openrath({ models })`, an AI SDK provider object, or a Model. */
export type ModelLike = `${string}/${string}` | (string & {}) | LanguageModel | Model;

/** Whether it can be a model: a name is looked up, and an object asked, when it is first used. */
export function isModelLike(model: unknown): boolean {
  if (typeof model === "string") return model !== "";
  return typeof model === "object" && model !== null && ("doStream" in model || "stream" in model);
}

/** What to do about what is no model. */
export function modelWanted(given: unknown): string {
  return typeof given === "function"
    ? 'a provider was given, call it with the id of a model, as in openai("gpt-5.5")'
    : 'give "provider/model", an AI SDK model or a Model';
}

export function notAModel(given: unknown): RathError {
  return new RathError("model.unknown", `Expected a model, got ${shown(given)}: ${modelWanted(given)}.`);
}

/** The name under which a model is asked and recorded. */
export function modelName(like: ModelLike): string {
  if (typeof like === "string") return like;
  if (!isModelLike(like)) throw notAModel(like);
  if ("doStream" in like) return `${like.provider.split(".")[0]}/${like.modelId}`;
  return like.id;
}
