/** Where a text stands in what is on record. */
import { z } from "@hono/zod-openapi";
import type { Asked } from "./asked.ts";
import { usually, wholeNumber } from "./number.ts";

const time = z.iso.datetime({ offset: true });

/** A text as it stands. No regular expressions: a slow one would hold up everybody's calls. */
export const grepQuery = z.strictObject({
  q: z.string().min(1).max(1000),
  ignoreCase: z.enum(["true", "false"]).default("false"),
  kind: z.string().max(100).optional().describe("Only events of this kind."),
  by: z.string().max(1000).optional(),
  since: time.optional(),
  until: time.optional(),
  limit: usually(wholeNumber(1, 500), 100),
  after: z
    .string()
    .regex(/^\d{1,9}$/, "is not the `next` of a page")
    .optional()
    .describe("Where the page before ended: its `next`."),
});
/** Which text is looked for, and where. */
export type GrepQuery = Asked<typeof grepQuery>;

export const grepHit = z
  .object({
    session: z.string(),
    step: z.number().int(),
    event: z.string(),
    kind: z.string(),
    by: z.string(),
    at: z.string(),
    where: z.string(),
    file: z.boolean(),
    line: z.number().int(),
    excerpt: z.string(),
    start: z.number().int(),
    end: z.number().int(),
  })
  .openapi("GrepHit");
/** A place where a text stands. */
export type GrepHitResource = z.infer<typeof grepHit>;
