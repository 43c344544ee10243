/** Vectors for memory: made inside the effect that needs them, so that what they cost is on record. */
import type { EmbedderLike, MemoryStore, Vector } from "../memory/memory.ts";
import { type Embedder, isEmbedder } from "../session/embedding.ts";
import { RathError } from "../session/errors.ts";
import type { Totals } from "../session/session.ts";
import type { Memories } from "./memories.ts";

export interface Embedded {
  readonly vector: Vector;
  readonly usage: Totals | undefined;
}

/** The vector of a text; undefined where words alone are compared. */
export async function embed(
  memories: Memories,
  { embedder: like }: MemoryStore,
  text: string,
  signal: AbortSignal,
): Promise<Embedded | undefined> {
  if (like === undefined || text.trim() === "") return undefined;
  const embedder = await embedderOf(memories, like);
  const { vectors, tokens } = await embedder.embed([memories.clean(text)], { signal });
  const values: unknown = Array.isArray(vectors) ? vectors[0] : undefined;
  if (!(values instanceof Float32Array && values.length > 0 && values.every(Number.isFinite)))
    throw new RathError("model.failed", `The embedder ${embedder.id} gave no vector: embed must give { vectors: [Float32Array] }.`, {
      details: { model: embedder.id },
    });
  return { vector: { model: embedder.id, values }, usage: tokens === undefined ? undefined : spent(memories, embedder.id, tokens) };
}

function embedderOf(memories: Memories, like: EmbedderLike): Promise<Embedder> | Embedder {
  return isEmbedder(like) ? like : memories.embedder(like);
}

function spent(memories: Memories, model: string, input: number): Totals {
  const usd = (input * (memories.price(model, input)?.input ?? 0)) / 1_000_000;
  return { input, output: 0, cached: 0, cacheWrite: 0, reasoning: 0, usd };
}

/** As bytes for the log: little-endian, four to a number. */
export function toBytes(values: Float32Array): Uint8Array {
  const bytes = new Uint8Array(values.length * 4);
  const view = new DataView(bytes.buffer);
  for (const [index, value] of values.entries()) view.setFloat32(index * 4, value, true);
  return bytes;
}

const littleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

/** Read again with every recall for all that is staged, so at once where the machine counts bytes as the log does. */
export function fromBytes(bytes: Uint8Array): Float32Array {
  const whole = new Uint8Array(bytes.subarray(0, bytes.byteLength - (bytes.byteLength % 4)));
  if (littleEndian) return new Float32Array(whole.buffer);
  const view = new DataView(whole.buffer);
  return Float32Array.from({ length: whole.byteLength / 4 }, (_, index) => view.getFloat32(index * 4, true));
}
