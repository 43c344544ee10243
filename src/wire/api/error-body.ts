/** How every call that fails is answered. */
import { z } from "@hono/zod-openapi";

export const errorBody = z
  .object({
    error: z.object({
      code: z.string().describe("The reason, module.reason: switch on it, not on the message."),
      message: z.string().describe("What happened, why, and what to do."),
      details: z.record(z.string(), z.unknown()),
      retryable: z.boolean().describe("Whether the same call may go well later."),
    }),
  })
  .openapi("Error");
/** How a call that fails is answered. */
export type ErrorBody = z.infer<typeof errorBody>;
