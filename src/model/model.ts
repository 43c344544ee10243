/**
 * Models: the port, the adapters over AI SDK provider objects, and two models that need no provider. The port's types live in
 * session/, since a request is rebuilt from the log. This module turns names and provider objects into models and knows
 * prices; it never retries, never runs a tool and never stores anything. A model is called once an attempt and either gives
 * one whole reply or throws `model.failed`.
 */

export type { Price } from "../session/host.ts";
export type {
  Finish,
  ModelReply,
  ModelRequest,
  ModelSettings,
  ReplyPart,
  ReplyUsage,
  RequestMessage,
  RequestResult,
  RequestTool,
} from "../session/message.ts";
export type { LanguageModel, Model, ModelLike, ModelOptions, ModelPart } from "../session/model.ts";
export { type ModelFailure, modelFailed } from "./failure.ts";
export { cost, type Prices, priceOf, pricesVersion } from "./prices.ts";
export { type CompatibleOptions, compatible } from "./providers.ts";
export { recorded } from "./recorded.ts";
export { type Reply, type Script, scripted } from "./scripted.ts";
