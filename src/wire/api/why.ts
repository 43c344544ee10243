/** What led to something, who wrote a line, what it cost, and where a text stands. */
import { z } from "@hono/zod-openapi";
import type { Asked } from "./asked.ts";
import { eventIndex, eventResource } from "./event.ts";
import { at } from "./place.ts";
import { totals, usage } from "./totals.ts";

const asked = z.string().max(4096).optional();

/** Exactly one of the first eight. */
export const whyQuery = z.strictObject({
  line: z
    .string()
    .max(4096)
    .regex(/^[\s\S]+:[1-9]\d{0,8}$/, "is not path:line")
    .optional()
    .describe("A line of a file, as path:line."),
  answer: asked.describe("The newest reply with these words; empty for the newest reply."),
  event: asked.describe("An event, by its id or the beginning of it."),
  call: asked.describe("A call of a tool, by its id or the tool's name."),
  memory: asked.describe("A memory, by its key or uri."),
  route: asked.describe("A choice, by what was chosen or by its event."),
  check: asked.describe("A check, by its name; empty for the newest."),
  cost: asked.describe("Empty for the model call that cost most, budget, or the name of a model."),
  at: at.optional(),
  format: z.enum(["json", "text"]).default("json"),
});
/** What is explained: exactly one thing. */
export type WhyQuery = Asked<typeof whyQuery>;

export const whyResource = z
  .object({
    hops: z.array(
      z
        .object({
          relation: z.string(),
          explains: z.array(z.number().int()),
          event: eventResource,
          summary: z.string(),
          evidence: z.looseObject({}),
        })
        .openapi("WhyHop"),
    ),
  })
  .openapi("Why");
/** The events that led to something, nearest first. */
export type WhyResource = z.infer<typeof whyResource>;

/** The lines of a file, each with the event that wrote it; what is known of the events stands once. */
export const blameResource = z
  .object({
    items: z.array(
      z.object({ line: z.number().int(), text: z.string(), event: z.string(), call: z.string().optional() }).openapi("BlameLine"),
    ),
    events: z.array(eventIndex),
    next: z.string().optional(),
  })
  .openapi("Blame");
/** Lines of a file, and the events that wrote them. */
export type BlameResource = z.infer<typeof blameResource>;

const sum = z.object({
  calls: z.number().int(),
  failed: z.number().int(),
  reused: z.number().int(),
  unpriced: z.number().int(),
  ms: z.number(),
  usage: totals,
});

export const costBy = z.enum(["branch", "agent", "model", "tool", "run"]);
export const costResource = z
  .object({
    by: costBy,
    rows: z.array(sum.extend({ name: z.string(), label: z.string().optional() })),
    rest: sum,
    total: sum,
    usage,
    unpriced: z.array(z.string()),
    crossed: z.array(
      z.object({
        event: z.string(),
        run: z.string(),
        at: z.string(),
        limit: z.enum(["rounds", "tokens", "usd", "time"]),
        of: z.number(),
        spent: z.number(),
        by: z.string(),
      }),
    ),
    interrupted: z.array(z.object({ event: z.string(), run: z.string(), at: z.string(), worker: z.string(), abandoned: z.boolean() })),
  })
  .openapi("Cost");
/** What a session cost, split up. */
export type CostResource = z.infer<typeof costResource>;
