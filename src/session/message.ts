/**
 * What is said: by people, models and tools. A reply is stored once, in `model.returned`; a request is rebuilt from the log
 * whenever somebody looks, and never stored.
 */

/** What can be said: text, or parts. */
export type Content = string | readonly Part[];
/** A piece of a message. */
export type Part =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string; readonly signature?: string }
  | { readonly type: "file"; readonly mediaType: string; readonly data: Uint8Array | Blob | URL };
/** A piece of a conversation: what can be said, and calls, results and sources that models and tools add. */
export type MessagePart =
  | Part
  | { readonly type: "call"; readonly id: string; readonly tool: string; readonly input: string }
  | { readonly type: "result"; readonly tool: string; readonly outcome: Outcome }
  | { readonly type: "source"; readonly url?: string | undefined; readonly title?: string | undefined };
/** Something said, and where it is on record. */
export interface Message {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly parts: readonly MessagePart[];
  readonly text: string;
  readonly by: string;
  /** The event that holds it and the branch it was said on. */
  readonly event: string;
  readonly session: string;
}
/** What became of an effect. */
export type Outcome =
  | { readonly type: "ok"; readonly value: unknown }
  | { readonly type: "error"; readonly message: string }
  | { readonly type: "denied"; readonly reason: string }
  | { readonly type: "cancelled"; readonly reason: string }
  | { readonly type: "expired" }
  | { readonly type: "unknown" };

/** What a model is asked. */
export interface ModelRequest {
  readonly model: string;
  readonly instructions: string;
  readonly messages: readonly RequestMessage[];
  readonly tools: readonly RequestTool[];
  readonly settings: ModelSettings;
  /** JSON Schema of the answer, when it must be structured. */
  readonly output?: object | undefined;
}
/** A tool as a model sees it; `input` is JSON Schema. */
export interface RequestTool {
  readonly name: string;
  readonly description: string;
  readonly input: object;
}
/** One message of a request. All results of one round of calls are one message, in call order. */
export type RequestMessage =
  | { readonly role: "system"; readonly text: string }
  | { readonly role: "user"; readonly parts: readonly Part[] }
  | { readonly role: "assistant"; readonly parts: readonly ReplyPart[] }
  | { readonly role: "tool"; readonly results: readonly RequestResult[] };
/** What a model reads of a call it made. */
export interface RequestResult {
  /** The id the provider gave the call. */
  readonly call: string;
  readonly tool: string;
  readonly outcome: Outcome["type"];
  /** The value, or the text that says what went wrong. */
  readonly value: unknown;
}

/** How a model is to answer. */
export interface ModelSettings {
  readonly temperature?: number | undefined;
  readonly maxOutputTokens?: number | undefined;
  readonly seed?: number | undefined;
  /** "required" or a tool forces the first round only: forced again, the loop would not end. */
  readonly toolChoice?: "auto" | "none" | "required" | { readonly tool: string } | undefined;
  /** How much a model may think before it answers, where its provider lets one say so. */
  readonly reasoning?: "none" | "low" | "medium" | "high" | undefined;
  /** Passed to the provider as it is, under the provider's name. */
  readonly providerOptions?: Readonly<Record<string, object>> | undefined;
}

/** A piece of what a model said. `metadata` is the provider's own and kept verbatim: signed reasoning cannot be sent again without it. */
export type ReplyPart =
  | { readonly type: "text"; readonly text: string; readonly metadata?: unknown }
  | { readonly type: "reasoning"; readonly text: string; readonly signature?: string | undefined; readonly metadata?: unknown }
  | { readonly type: "call"; readonly id: string; readonly tool: string; readonly input: string; readonly metadata?: unknown }
  | { readonly type: "file"; readonly mediaType: string; readonly data: Uint8Array; readonly metadata?: unknown }
  | { readonly type: "source"; readonly url?: string | undefined; readonly title?: string | undefined; readonly metadata?: unknown };

/** Why a model stopped. */
export type Finish = "stop" | "length" | "calls" | "refused" | "other";

/** Tokens of one call. `input` counts all of them: uncached, cached and written to the cache; `output` includes reasoning. */
export interface ReplyUsage {
  readonly input: number;
  readonly output: number;
  readonly cached: number;
  readonly cacheWrite: number;
  readonly reasoning: number;
}

/** A whole reply. */
export interface ModelReply {
  readonly parts: readonly ReplyPart[];
  readonly finish: Finish;
  readonly usage: ReplyUsage;
  /** The model that answered, when the provider names another one than was asked. */
  readonly model?: string | undefined;
  /** The provider's id of the response. */
  readonly id?: string | undefined;
  readonly warnings?: readonly string[] | undefined;
  readonly metadata?: unknown;
  /** The provider read the outside world for it, with tools of its own: nothing of it is trusted. So is a reply that names sources. */
  readonly outside?: true | undefined;
}
