/** The port of embedding models: texts become vectors, so that what means the same is found though it says it otherwise. */

/** A vector, and the model that made it: vectors of different models cannot be compared. */
export interface Vector {
  readonly model: string;
  readonly values: Float32Array;
}

/** Makes vectors of texts. */
export interface Embedder {
  /** "provider/model", or any name of one's own. */
  readonly id: string;
  /** In the order of the texts; all of one length. `tokens` is what the provider counted. */
  embed(
    texts: readonly string[],
    options: { readonly signal: AbortSignal },
  ): Promise<{ readonly vectors: readonly Float32Array[]; readonly tokens?: number | undefined }>;
}

/** What an AI SDK embedding model looks like (V2 to V4), described by structure so that no peer's types are needed. */
export interface EmbeddingModel {
  readonly specificationVersion: "v2" | "v3" | "v4";
  readonly provider: string;
  readonly modelId: string;
  readonly maxEmbeddingsPerCall?: number | PromiseLike<number | undefined> | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: the boundary to the providers' own types, which differ by version
  doEmbed(options: any): PromiseLike<any>;
}

/** "provider/model", an AI SDK embedding model, or an Embedder. */
export type EmbedderLike = `${string}/${string}` | EmbeddingModel | Embedder;

export function isEmbedder(like: unknown): like is Embedder {
  const { id, embed } = (like ?? {}) as Partial<Record<keyof Embedder, unknown>>;
  return typeof id === "string" && typeof embed === "function";
}

export function isEmbeddingModel(like: unknown): like is EmbeddingModel {
  return typeof (like as Partial<EmbeddingModel> | null | undefined)?.doEmbed === "function";
}
