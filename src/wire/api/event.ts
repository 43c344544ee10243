/** Events as they are answered with. */
import { z } from "@hono/zod-openapi";

const facts = z.looseObject({ outcome: z.enum(["ok", "error", "denied", "cancelled", "expired", "unknown"]).optional() });

export const eventResource = z
  .object({
    id: z.string(),
    session: z.string(),
    parents: z.array(z.string()),
    step: z.number().int(),
    kind: z.string(),
    version: z.number().int(),
    at: z.string(),
    by: z.string(),
    facts,
    data: z.unknown().describe("What it says; missing once it was erased. Bytes are { $: 'bytes', base64 }."),
  })
  .openapi("Event");
/** An event on record. */
export type EventResource = z.infer<typeof eventResource>;

/** An event without what it says. */
export const eventIndex = z
  .object({
    id: z.string(),
    step: z.number().int(),
    kind: z.string(),
    by: z.string(),
    at: z.string(),
    session: z.string().optional().describe("Left out where it is the session that was asked about."),
    parents: z.array(z.string()).optional().describe("Left out where it is the item before it on the page, alone."),
    facts: facts.optional().describe("Left out where there are none."),
    erased: z.literal(true).optional(),
  })
  .openapi("EventIndex");
/** An event without what it says. */
export type EventIndex = z.infer<typeof eventIndex>;

export const eventLineResource = z.object({ id: z.string(), line: z.string() }).openapi("EventLine");
/** What an event says, in a line. */
export type EventLine = z.infer<typeof eventLineResource>;
