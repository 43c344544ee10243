/** Sandboxes that were ever opened. */
import { z } from "@hono/zod-openapi";

export const sandboxStatus = z.enum(["open", "closed", "lost", "unknown"]);

export const sandboxRecord = z
  .object({
    id: z.string(),
    sandbox: z.string(),
    isolation: z.string(),
    workspace: z.string().optional(),
    session: z.string(),
    run: z.string(),
    opened: z.string(),
    status: sandboxStatus,
    closed: z.object({ at: z.string(), reason: z.string(), problem: z.string().optional() }).optional(),
  })
  .openapi("SandboxRecord");
/** A sandbox that was opened, and what became of it. */
export type SandboxResource = z.infer<typeof sandboxRecord>;
