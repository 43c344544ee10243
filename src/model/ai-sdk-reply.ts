/** The parts of an AI SDK stream as deltas for whoever watches, and the whole reply in the order things began. */
import type { Finish, ModelReply, ReplyPart } from "../session/message.ts";
import type { ModelPart } from "../session/model.ts";
import type { Dialect } from "./ai-sdk-dialect.ts";
import { failureOf } from "./ai-sdk-failure.ts";
import { fieldOf, isObject, textOf, textsOf } from "./ai-sdk-field.ts";
import { usageOf } from "./ai-sdk-usage.ts";
import { modelFailed } from "./failure.ts";

/** One part of a provider's stream, before anything is known of it. */
export type StreamPart = Readonly<Record<string, unknown>> & { readonly type: string };
type Delta = Exclude<ModelPart, { readonly type: "reply" }>;
type Metadata = Readonly<Record<string, unknown>>;

/** A text or reasoning that is being written. */
interface Block {
  readonly type: "text" | "reasoning";
  text: string;
  metadata: Metadata | undefined;
}

/** What comes in one piece. */
type Whole = Exclude<ReplyPart, { readonly type: "text" | "reasoning" }>;

/** Gathers a reply. `add` gives the delta to show, `reply` the whole once the provider has finished. */
export class ReplyBuilder {
  readonly #dialect: Dialect;
  readonly #model: string;
  readonly #parts: (Block | Whole)[] = [];
  readonly #open = new Map<string, Block>();
  readonly #tools = new Map<string, string>();
  readonly #warnings = new Set<string>();
  /** The provider ran a tool of its own: what it found is in the text. */
  #outside = false;
  #answered: { readonly id?: string; readonly model?: string } = {};
  #finish: StreamPart | undefined;

  constructor(dialect: Dialect, model: string) {
    this.#dialect = dialect;
    this.#model = model;
  }

  /** Takes a part in. An `error` part is thrown. */
  add(part: StreamPart): Delta | undefined {
    switch (part.type) {
      case "text-start":
      case "reasoning-start":
        this.#block(part, true);
        return undefined;
      case "text-delta":
      case "reasoning-delta":
        return this.#grow(part);
      case "text-end":
      case "reasoning-end":
        this.#block(part, false);
        return undefined;
      case "tool-input-start":
        if (part["providerExecuted"] !== true) this.#tools.set(textOf(part["id"]), textOf(part["toolName"]));
        return undefined;
      case "tool-input-delta":
        return this.#inputDelta(part);
      case "tool-call":
        this.#call(part);
        return undefined;
      case "file":
        this.#file(part);
        return undefined;
      case "source":
        this.#parts.push(withMetadata({ type: "source", ...textsOf(part, "url", "title") }, part));
        return undefined;
      case "stream-start":
        if (Array.isArray(part["warnings"])) for (const warning of part["warnings"]) this.#warnings.add(warningText(warning));
        return undefined;
      case "response-metadata":
        this.#answered = { ...this.#answered, ...renamed(part) };
        return undefined;
      case "finish":
        this.#finish = part;
        return undefined;
      case "error":
        throw failureOf(part["error"], this.#model, "stream");
      default:
        // Raw chunks, pings, results of tools the provider ran itself, and what later versions add.
        return undefined;
    }
  }

  /** The reply, or undefined when the stream ended before the provider said why it stopped. */
  reply(): ModelReply | undefined {
    if (this.#finish === undefined || hasNoReason(this.#finish)) return undefined;
    const { usage, finishReason, providerMetadata: metadata } = this.#finish;
    const parts = this.#parts.flatMap((part): readonly ReplyPart[] => (isBlock(part) ? closed(part) : [part]));
    const { id, model } = this.#answered;
    return {
      parts,
      finish: this.#finishOf(finishReason, parts),
      usage: usageOf(usage, metadata, this.#dialect),
      ...(model === undefined || model === this.#dialect.modelId ? {} : { model: `${this.#dialect.provider}/${model}` }),
      ...(id === undefined ? {} : { id }),
      ...(this.#warnings.size === 0 ? {} : { warnings: [...this.#warnings] }),
      ...(metadata === undefined ? {} : { metadata }),
      ...(this.#outside ? { outside: true as const } : {}),
    };
  }

  #block(part: StreamPart, starts: boolean): Block {
    const [type] = part.type.split("-") as ["text" | "reasoning"];
    const key = `${type}:${textOf(part["id"])}`;
    let block = starts ? undefined : this.#open.get(key);
    if (block === undefined) {
      block = { type, text: "", metadata: undefined };
      this.#open.set(key, block);
      this.#parts.push(block);
    }
    block.metadata = merged(block.metadata, part["providerMetadata"]);
    return block;
  }

  #grow(part: StreamPart): Delta | undefined {
    const block = this.#block(part, false);
    const delta = textOf(part["delta"]);
    block.text += delta;
    return delta === "" ? undefined : { type: `${block.type}-delta`, text: delta };
  }

  #inputDelta(part: StreamPart): Delta | undefined {
    const call = textOf(part["id"]);
    const tool = this.#tools.get(call);
    return tool === undefined ? undefined : { type: "call-delta", call, tool, text: textOf(part["delta"]) };
  }

  #call(part: StreamPart): void {
    const tool = textOf(part["toolName"]);
    if (part["providerExecuted"] === true) {
      this.#warnings.add(`The provider ran ${tool} itself; the call and its result are not part of the reply.`);
      this.#outside = true;
      return;
    }
    const input = part["input"];
    this.#parts.push(
      withMetadata(
        { type: "call", id: textOf(part["toolCallId"]), tool, input: typeof input === "string" ? input : (JSON.stringify(input) ?? "") },
        part,
      ),
    );
  }

  #file(part: StreamPart): void {
    const mediaType = textOf(part["mediaType"]);
    const given = part["data"];
    // V4 wraps the data to tell a link from bytes.
    const wrapped = typeof given === "object" && given !== null && "type" in given ? (given as StreamPart) : undefined;
    if (wrapped?.type === "url") {
      this.#parts.push(withMetadata({ type: "source", url: String(wrapped["url"]) }, part));
      return;
    }
    const data = wrapped === undefined ? given : wrapped["data"];
    this.#parts.push(withMetadata({ type: "file", mediaType, data: data instanceof Uint8Array ? data : fromBase64(textOf(data)) }, part));
  }

  /** V2 gives a word, later versions a word and the provider's own. */
  #finishOf(reason: unknown, parts: readonly ReplyPart[]): Finish {
    const [word, raw] = typeof reason === "string" ? [reason, ""] : [fieldOf(reason, "unified"), fieldOf(reason, "raw")];
    const calls = parts.some((part) => part.type === "call");
    if (word === "error")
      throw modelFailed(`${this.#model}: the provider stopped with an error and did not say which.`, { retryable: true });
    if (word === "length") return "length";
    if (word === "content-filter" || raw === "refusal") return "refused";
    // Some servers say "stop" although there are calls, and "tool-calls" when they ran the tools themselves.
    if (calls) return "calls";
    return word === "stop" || word === "tool-calls" ? "stop" : "other";
  }
}

/**
 * When a connection is closed early, the packages of OpenAI and Google still send a finish. V4 has a word for it; V3 leaves the
 * reason it began with, an "other" that no word of the server stands behind; V2 cannot be told from a reason it does not know,
 * save that nothing was counted.
 */
function hasNoReason({ finishReason, usage }: StreamPart): boolean {
  if (typeof finishReason === "string") return finishReason === "unknown" && fieldOf(usage, "outputTokens") === undefined;
  const unified = fieldOf(finishReason, "unified");
  return unified === "interrupted" || (unified === "other" && fieldOf(finishReason, "raw") === undefined);
}

function isBlock(part: Block | Whole): part is Block {
  return part.type === "text" || part.type === "reasoning";
}

function closed(block: Block): ReplyPart[] {
  const { type, text: said, metadata } = block;
  if (said === "" && metadata === undefined) return [];
  if (type === "text") return [{ type, text: said, ...(metadata === undefined ? {} : { metadata }) }];
  const signature = Object.values(metadata ?? {})
    .map((own) => fieldOf(own, "signature") ?? fieldOf(own, "thoughtSignature"))
    .find((found) => typeof found === "string");
  return [{ type, text: said, ...(signature === undefined ? {} : { signature }), ...(metadata === undefined ? {} : { metadata }) }];
}

/** Metadata comes in pieces: OpenAI names an item at its start and gives the encrypted reasoning at its end. */
function merged(before: Metadata | undefined, given: unknown): Metadata | undefined {
  if (typeof given !== "object" || given === null) return before;
  const result: Record<string, unknown> = { ...before };
  for (const [provider, fields] of Object.entries(given)) {
    const known = result[provider];
    result[provider] = isObject(known) && isObject(fields) ? { ...known, ...fields } : fields;
  }
  return result;
}

function withMetadata<P extends ReplyPart>(part: P, from: StreamPart): P {
  const metadata = from["providerMetadata"];
  return metadata === undefined ? part : { ...part, metadata };
}

function renamed(part: StreamPart): { readonly id?: string; readonly model?: string } {
  const { id, modelId } = textsOf(part, "id", "modelId");
  return { ...(id === undefined ? {} : { id }), ...(modelId === undefined ? {} : { model: modelId }) };
}

function warningText(warning: unknown): string {
  const { type, feature, setting, details, message } = textsOf(warning, "type", "feature", "setting", "details", "message");
  const about = feature ?? setting ?? textOf(fieldOf(fieldOf(warning, "tool"), "name"));
  return message ?? [type === "other" ? "" : type, about, details].filter((word) => word !== undefined && word !== "").join(": ");
}

function fromBase64(encoded: string): Uint8Array {
  return Uint8Array.from(atob(encoded), (letter) => letter.charCodeAt(0));
}
