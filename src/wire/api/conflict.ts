/** What a merge would have to decide. */
import { z } from "@hono/zod-openapi";

const sides = { base: z.string().optional(), ours: z.string().optional(), theirs: z.string().optional() };

export const conflict = z
  .discriminatedUnion("kind", [
    z.object({ kind: z.literal("file"), path: z.string(), ...sides, problem: z.string().optional() }),
    z.object({ kind: z.literal("memory"), key: z.string(), uri: z.string().optional(), ...sides }),
  ])
  .openapi("Conflict");
/** Something that a merge would have to decide. */
export type ConflictResource = z.infer<typeof conflict>;
