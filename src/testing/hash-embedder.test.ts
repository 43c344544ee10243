import { expect, test } from "vitest";
import { cosine } from "../memory/score.ts";
import { hashEmbedder } from "./hash-embedder.ts";

const { signal } = new AbortController();

test("the same text has the same vector, and texts that share letters are alike", async () => {
  const embedder = hashEmbedder();
  const { vectors } = await embedder.embed(["running tests", "Running Tests", "run the tests", "blue sky", ""], { signal });
  const [one, same, near, far, empty] = vectors as [Float32Array, Float32Array, Float32Array, Float32Array, Float32Array];
  expect(one).toEqual(same);
  expect(one).toHaveLength(256);
  expect(cosine(one, near) ?? 0).toBeGreaterThan(cosine(one, far) ?? 0);
  expect(cosine(one, one)).toBeCloseTo(1, 6);
  expect([...empty].every(Number.isFinite)).toBe(true);
});

test("its name tells the number of dimensions, and it stops when asked to", async () => {
  expect(hashEmbedder(8).id).toBe("openrath/hash-8");
  expect((await hashEmbedder(8).embed(["text"], { signal })).vectors[0]).toHaveLength(8);
  await expect(hashEmbedder().embed(["text"], { signal: AbortSignal.abort() })).rejects.toThrow();
});
