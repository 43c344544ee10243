/** Long work whose result is a file: exports and dossiers. */
import { z } from "@hono/zod-openapi";
import { name } from "./session.ts";

/** A job is named by what it makes, so that any server can make it. */
export const jobId = z
  .string()
  .min(1)
  .max(2000)
  .regex(/^[A-Za-z0-9_-]+$/, "is not the id of a job");

export const exportRequest = z
  .discriminatedUnion("format", [
    z.strictObject({ format: z.enum(["bundle", "lineage-jsonl", "mermaid", "dot", "svg", "html"]) }),
    z.strictObject({ format: z.literal("otlp"), content: z.boolean().optional(), service: name.optional() }),
    z.strictObject({
      format: z.literal("chat-jsonl"),
      branches: z.enum(["all", "session"]).optional(),
      reasoning: z.boolean().optional(),
      images: z.enum(["inline", "placeholder"]).optional(),
    }),
    z.strictObject({ format: z.literal("atif"), reasoning: z.boolean().optional() }),
    z.strictObject({ format: z.literal("markdown"), longest: z.number().int().min(1).max(10_000_000).optional() }),
  ])
  .openapi("ExportRequest");
/** As what a session is exported. */
export type ExportRequest = z.input<typeof exportRequest>;

export const jobResource = z
  .object({
    id: z.string(),
    kind: z.enum(["export", "dossier"]),
    session: z.string(),
    head: z.string().describe("What it is made of: the session as it stood."),
    status: z.enum(["queued", "running", "done", "failed"]),
    progress: z
      .object({ done: z.number().int() })
      .describe("How much was gone through: events that were read and lines that were written."),
    files: z
      .array(z.object({ path: z.string(), bytes: z.number().int() }))
      .optional()
      .describe("What there is to fetch, when it is done."),
    error: z.object({ code: z.string(), message: z.string() }).optional(),
  })
  .openapi("Job");
/** Long work, how far it has come, and its files. */
export type JobResource = z.infer<typeof jobResource>;

export const jobResultQuery = z.strictObject({
  file: z.string().min(1).max(1000).optional().describe("One of the files of a dossier; its page when left out."),
});
