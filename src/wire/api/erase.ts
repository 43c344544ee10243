/** Erasing for good. */
import { z } from "@hono/zod-openapi";
import { eventId, sessionId, words } from "./place.ts";

const name = z.string().min(1).max(1000);

/** Exactly one of the first five, or `matching` alone or with a session. */
export const eraseAsked = z
  .strictObject({
    session: sessionId.optional().describe("The whole id."),
    events: z.array(eventId).min(1).max(1000).optional(),
    principal: name.optional(),
    tag: name.optional(),
    memories: z.array(name).min(1).max(1000).optional(),
    matching: z.string().min(2).max(10_000).optional(),
    reason: words,
    dryRun: z.boolean().default(false),
  })
  .openapi("EraseAsked");

/** What is to be erased, and why. */
export type EraseAsked = z.input<typeof eraseAsked>;

export const eraseReport = z
  .object({
    dryRun: z.boolean(),
    entries: z.array(z.string()),
    events: z.array(z.string()),
    blobs: z.array(z.string()),
    files: z.array(z.object({ path: z.string(), blob: z.string() })),
    memories: z.array(z.string()),
    sessions: z.array(z.string()),
    shared: z.array(z.string()),
    left: z.array(z.object({ what: z.string(), id: z.string(), why: z.string() })),
    scrubbed: z.boolean(),
  })
  .openapi("EraseReport");
/** What was erased, and what could not be. */
export type EraseResource = z.infer<typeof eraseReport>;
