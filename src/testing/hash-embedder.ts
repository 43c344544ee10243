/** Vectors without a model, for tests: texts that share triples of characters are alike, whatever they mean. */
import type { Embedder } from "../session/embedding.ts";

/**
 * An embedder that needs no network and always gives the same vectors. It is no real model: it sees letters, not meaning.
 *
 * @example
 * const memory = volatileMemory({ embedder: hashEmbedder() });
 */
export function hashEmbedder(dimensions = 256): Embedder {
  return {
    id: `openrath/hash-${dimensions}`,
    embed: async (texts, { signal }) => {
      signal.throwIfAborted();
      return { vectors: texts.map((text) => vectorOf(text, dimensions)), tokens: 0 };
    },
  };
}

function vectorOf(text: string, dimensions: number): Float32Array {
  const values = new Float32Array(dimensions);
  const padded = ` ${text.normalize("NFKC").toLowerCase()} `;
  for (let i = 0; i + 3 <= padded.length; i++) {
    const hash = hashOf(padded.slice(i, i + 3));
    const place = (hash >>> 1) % dimensions;
    values[place] = (values[place] as number) + (hash & 1 ? 1 : -1);
  }
  const length = Math.hypot(...values) || 1;
  return values.map((value) => value / length);
}

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  // The lowest bits of FNV mix badly.
  return (hash ^ (hash >>> 15)) >>> 0;
}
