/** Verdicts: those that workflows recorded, and those that callers add afterwards. */
import { z } from "@hono/zod-openapi";
import { words } from "./place.ts";

export const check = z
  .object({
    name: z.string(),
    passed: z.boolean(),
    score: z.number().optional(),
    reason: z.string().optional(),
    acted: z.looseObject({}).optional(),
    event: z.string(),
  })
  .openapi("Check");
/** A verdict on a session. */
export type CheckResource = z.infer<typeof check>;

export const newCheck = z
  .strictObject({
    name: z.string().min(1).max(200),
    passed: z.boolean(),
    score: z.number().optional(),
    reason: words.optional(),
    ifHead: z
      .string()
      .regex(/^[0-9a-fA-F]{64}$/)
      .toLowerCase()
      .optional()
      .describe("Only if this is still the newest event of the session."),
  })
  .openapi("NewCheck");
/** A verdict to record. */
export type NewCheck = z.infer<typeof newCheck>;
