/** Calling a model as an agent does: a request, who asks, and what came of it. */
import type { ModelReply, ModelRequest } from "../../src/session/message.ts";
import type { LanguageModel, Model, ModelOptions, ModelPart } from "../../src/session/model.ts";
import { testRath } from "../../src/testing/test-rath.ts";

export function requestOf(fields: Partial<ModelRequest> = {}): ModelRequest {
  return {
    model: "test/model",
    instructions: "",
    messages: [{ role: "user", parts: [{ type: "text", text: "Hello" }] }],
    tools: [],
    settings: {},
    ...fields,
  };
}

export function optionsOf(fields: Partial<ModelOptions> = {}): ModelOptions {
  return { signal: new AbortController().signal, session: testRath().session("Hello"), by: "agent", turn: 0, ...fields };
}

/** Everything a model streamed, and its reply. */
export async function callModel(
  model: Model,
  request = requestOf(),
  options = optionsOf(),
): Promise<{ readonly parts: readonly ModelPart[]; readonly reply: ModelReply }> {
  const parts: ModelPart[] = [];
  for await (const part of model.stream(request, options)) parts.push(part);
  const last = parts.at(-1);
  if (last?.type !== "reply") throw new Error("The stream ended without a reply.");
  return { parts, reply: last.reply };
}

/** What a call threw. */
export async function failureFrom(call: Promise<unknown>): Promise<{
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
  readonly details: Readonly<Record<string, unknown>>;
}> {
  try {
    await call;
  } catch (error) {
    return error as Awaited<ReturnType<typeof failureFrom>>;
  }
  throw new Error("The call did not fail.");
}

export type Version = LanguageModel["specificationVersion"];

/** A provider object that streams what it is given and remembers how it was called. */
export function fakeModel(
  parts: readonly object[],
  fields: {
    readonly version?: Version;
    readonly provider?: string;
    readonly modelId?: string;
    readonly error?: unknown;
    readonly open?: boolean;
  } = {},
): LanguageModel & { readonly calls: Readonly<Record<string, unknown>>[] } {
  const calls: Readonly<Record<string, unknown>>[] = [];
  const { version = "v3", provider = "test.chat", modelId = "model", error, open = false } = fields;
  return {
    specificationVersion: version,
    provider,
    modelId,
    calls,
    async doStream(options: Readonly<Record<string, unknown>>) {
      calls.push(options);
      const stream = new ReadableStream<object>({
        start(controller) {
          for (const part of parts) controller.enqueue(part);
          if (error !== undefined) controller.error(error);
          else if (!open) controller.close();
        },
      });
      return { stream };
    },
  };
}

/** The end of a stream, in the words of a version. */
export function finishPart(version: Version, word = "stop", usage: object = {}, providerMetadata?: object): object {
  const reason = version === "v2" ? word : { unified: word, raw: word };
  return { type: "finish", finishReason: reason, usage, ...(providerMetadata === undefined ? {} : { providerMetadata }) };
}
