/**
 * Embedders over AI SDK embedding models, V2 to V4 by their declared version, and over names like "openai/text-embedding-3-small".
 * Texts are sent in as many calls as the model wants; a call that failed for the moment is tried again.
 */
import { counted } from "../session/counted.ts";
import { type Embedder, type EmbedderLike, type EmbeddingModel, isEmbedder, isEmbeddingModel } from "../session/embedding.ts";
import { RathError } from "../session/errors.ts";
import { unlessAborted } from "./ai-sdk.ts";
import { failureOf } from "./ai-sdk-failure.ts";
import { modelFailed } from "./failure.ts";
import { providerEmbeddingModel, type Surroundings } from "./providers.ts";

const versions: readonly string[] = ["v2", "v3", "v4"] satisfies readonly EmbeddingModel["specificationVersion"][];
const attempts = 3;
const firstWaitMs = 500;
/** Who must wait longer is told so instead: a person or a run waits behind it. */
const longestWaitMs = 60_000;

/**
 * The embedder behind a "provider/model" name, an AI SDK embedding model or an Embedder. Calls no network; a package or a key
 * that is missing is named.
 */
export async function resolveEmbedder(like: EmbedderLike, given: Partial<Surroundings> = {}): Promise<Embedder> {
  if (typeof like === "string") return { ...aiSdkEmbedder(await providerEmbeddingModel(like, given)), id: like };
  if (isEmbedder(like)) return like;
  if (isEmbeddingModel(like)) return aiSdkEmbedder(like);
  throw new RathError(
    "model.unknown",
    `Expected an embedding model, got ${like === null ? "null" : typeof like}. Give "provider/model", an AI SDK embedding model or an Embedder.`,
  );
}

/** An embedder of ours over a provider's model. Making one calls nothing. */
export function aiSdkEmbedder(model: EmbeddingModel): Embedder {
  const id = `${model.provider.split(".")[0]}/${model.modelId}`;
  if (!versions.includes(model.specificationVersion))
    throw new RathError(
      "model.unknown",
      `${id} declares the specification "${model.specificationVersion}"; known are ${versions.join(", ")}. Install another version of its provider package.`,
    );
  return { id, embed: (texts, { signal }) => embedAll(model, id, texts, signal) };
}

interface Embedded {
  readonly vectors: readonly Float32Array[];
  readonly tokens: number | undefined;
}

async function embedAll(model: EmbeddingModel, id: string, texts: readonly string[], signal: AbortSignal): Promise<Embedded> {
  signal.throwIfAborted();
  const most = Math.max(1, (await model.maxEmbeddingsPerCall) ?? Number.POSITIVE_INFINITY);
  const vectors: Float32Array[] = [];
  let tokens: number | undefined = 0;
  for (let from = 0; from < texts.length; from += most) {
    const part = await tried(model, id, texts.slice(from, from + most), signal);
    vectors.push(...part.vectors);
    tokens = tokens === undefined || part.tokens === undefined ? undefined : tokens + part.tokens;
  }
  if (vectors.some(({ length }) => length !== vectors[0]?.length))
    throw modelFailed(`${id}: the vectors of one request have different lengths.`, { retryable: false });
  return { vectors, tokens };
}

async function tried(model: EmbeddingModel, id: string, values: readonly string[], signal: AbortSignal): Promise<Embedded> {
  for (let attempt = 1; ; attempt++) {
    try {
      return read(await unlessAborted(model.doEmbed({ values: [...values], abortSignal: signal }), signal), id, values.length);
    } catch (error) {
      signal.throwIfAborted();
      const failure = failureOf(error, id, "call");
      const wait = waitFor(failure, attempt);
      if (!failure.retryable || attempt === attempts || wait > longestWaitMs) throw failure;
      await pause(wait, signal);
    }
  }
}

/** The one place where a provider's own types come in: what doEmbed gives is checked. */
function read(answer: unknown, id: string, expected: number): Embedded {
  const { embeddings, usage } = (answer ?? {}) as { readonly embeddings?: unknown; readonly usage?: { readonly tokens?: unknown } };
  const given: readonly unknown[] = Array.isArray(embeddings) ? embeddings : [];
  if (given.length !== expected)
    throw modelFailed(`${id}: ${counted(expected, "text")} sent, and ${counted(given.length, "vector")} came back.`, { retryable: false });
  return { vectors: given.map((vector) => vectorOf(vector, id)), tokens: typeof usage?.tokens === "number" ? usage.tokens : undefined };
}

function vectorOf(given: unknown, id: string): Float32Array {
  const values = Float32Array.from(Array.isArray(given) ? (given as readonly number[]) : []);
  if (values.length === 0 || !values.every(Number.isFinite))
    throw modelFailed(`${id}: a vector came back that is no list of numbers.`, { retryable: false });
  return values;
}

/** As long as the provider asks, else twice as long each time. */
function waitFor(failure: RathError, attempt: number): number {
  const asked = failure.details["retryAfterMs"];
  return typeof asked === "number" ? asked : firstWaitMs * 2 ** (attempt - 1);
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const waited = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  return unlessAborted(waited, signal).finally(() => clearTimeout(timer));
}
