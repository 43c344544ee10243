/** What a server is, and what the caller may do there. */
import { z } from "@hono/zod-openapi";

export const health = z.object({ status: z.literal("ok") }).openapi("Health");

export const readiness = z.object({ status: z.literal("ready") }).openapi("Readiness");

export const info = z
  .object({
    name: z.literal("openrath"),
    version: z.string(),
    store: z.string().optional().describe("What keeps the record, in a word: sqlite, postgres, memory."),
    /** Whose data this caller sees. */
    tenant: z.string(),
    project: z.string(),
    caller: z.object({
      identity: z.string().describe('Like "human:ada": what records name.'),
      key: z.string().optional().describe("The id of the key, which is no secret."),
      roles: z.array(z.string()),
      permissions: z.array(z.string()),
    }),
    limits: z.record(z.string(), z.number()),
    workflows: z.array(z.string()).describe("The names that runs can be started with."),
    formats: z.array(z.string()).describe("What sessions can be exported as."),
    features: z.array(z.string()).describe("What this store can do that not all can, like erasing."),
  })
  .openapi("Info");
/** What a server is, and what the caller may do there. */
export type Info = z.infer<typeof info>;
/** That the process answers. */
export type Health = z.infer<typeof health>;
/** That a server should be sent calls. */
export type Readiness = z.infer<typeof readiness>;
