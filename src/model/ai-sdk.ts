/**
 * The adapter over AI SDK provider objects, V2 to V4 by their declared version. It calls `doStream` itself: the loop, the
 * retries and the tools are ours. Providers are known by structure, so that no type of theirs is in our declarations.
 */
import { RathError } from "../session/errors.ts";
import type { ModelRequest } from "../session/message.ts";
import { type LanguageModel, type Model, type ModelOptions, type ModelPart, modelName } from "../session/model.ts";
import { type Dialect, dialectOf } from "./ai-sdk-dialect.ts";
import { cutStream, failureOf } from "./ai-sdk-failure.ts";
import { ReplyBuilder, type StreamPart } from "./ai-sdk-reply.ts";
import { callOptions } from "./ai-sdk-request.ts";

const versions: readonly string[] = ["v2", "v3", "v4"] satisfies readonly LanguageModel["specificationVersion"][];

/** A model of ours over a provider's. Making one calls nothing. */
export function aiSdkModel(model: LanguageModel): Model {
  const id = modelName(model);
  if (!versions.includes(model.specificationVersion))
    throw new RathError(
      "model.unknown",
      `${id} declares the specification "${model.specificationVersion}"; known are ${versions.join(", ")}. Install another version of its provider package.`,
    );
  const dialect = dialectOf(model);
  return { id, stream: (request, options) => streamOf(model, dialect, id, request, options) };
}

async function* streamOf(
  model: LanguageModel,
  dialect: Dialect,
  id: string,
  request: ModelRequest,
  { signal }: ModelOptions,
): AsyncGenerator<ModelPart, void, undefined> {
  signal.throwIfAborted();
  const builder = new ReplyBuilder(dialect, id);
  const reader = await open(model, dialect, id, request, signal);
  try {
    for (let read = await next(reader, id, signal); !read.done; read = await next(reader, id, signal)) {
      const delta = builder.add(read.value);
      if (delta !== undefined) yield delta;
    }
    const reply = builder.reply();
    if (reply === undefined) throw cutStream(id);
    yield { type: "reply", reply };
  } finally {
    // Left early, by an error, an abort or a reader who has seen enough: the connection must not stay open.
    reader.cancel().catch(() => {});
  }
}

type Reader = ReadableStreamDefaultReader<StreamPart>;

async function open(model: LanguageModel, dialect: Dialect, id: string, request: ModelRequest, signal: AbortSignal): Promise<Reader> {
  const call = await callOptions(request, dialect, signal);
  try {
    // The one place where a provider's own types come in: what doStream gives is checked part by part.
    const { stream } = (await unlessAborted(model.doStream(call), signal)) as { readonly stream: ReadableStream<StreamPart> };
    return stream.getReader();
  } catch (error) {
    signal.throwIfAborted();
    throw failureOf(error, id, "call");
  }
}

async function next(reader: Reader, id: string, signal: AbortSignal): ReturnType<Reader["read"]> {
  // What has arrived already would win the race against the signal.
  signal.throwIfAborted();
  try {
    return await unlessAborted(reader.read(), signal);
  } catch (error) {
    signal.throwIfAborted();
    throw failureOf(error, id, "stream");
  }
}

/** What was promised, unless the signal comes first: not every provider listens to it. */
export async function unlessAborted<T>(promised: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  let stop = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
  });
  try {
    return await Promise.race([promised, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
