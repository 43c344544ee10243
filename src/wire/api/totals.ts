/** Tokens and money. */
import { z } from "@hono/zod-openapi";

export const totals = z
  .object({
    input: z.number(),
    output: z.number(),
    cached: z.number(),
    cacheWrite: z.number(),
    reasoning: z.number(),
    usd: z.number(),
  })
  .openapi("Totals");

export const usage = totals.extend({ own: totals }).openapi("Usage");
