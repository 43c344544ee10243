/** The shapes of what a run says of itself in its own log. */
import { z } from "zod";
import { duration, id, iso, place } from "./schema-parts.ts";

export const runSchemas = {
  "run.started": z.strictObject({
    workflow: z.string(),
    input: place,
    key: z.string().optional(),
    bare: z.literal(true).optional(),
    rerun: z.string().optional(),
    /** From this call of an agent on, another model or other instructions than its own. */
    instead: z
      .strictObject({ by: z.string(), turn: z.int().min(0), model: z.string().optional(), instructions: z.string().optional() })
      .optional(),
    /** What `describe()` of the workflow said then. */
    revision: z.string().optional(),
    priority: z.number().optional(),
    /** It fails if it has not ended by then. */
    deadline: iso.optional(),
    /** The cancelled run that this one makes good: it executes `onCancel`. */
    compensates: z.string().optional(),
    /** The workflow has an `onCancel`. */
    onCancel: z.literal(true).optional(),
    /** The run inside which it was started. */
    parent: z.string().optional(),
    /** The trace in which it was started, as a W3C traceparent. */
    trace: z.string().optional(),
    limits: z
      .strictObject({
        rounds: z.number().optional(),
        tokens: z.number().optional(),
        usd: z.number().optional(),
        time: duration.optional(),
      })
      .optional(),
  }),
  "run.resumed": z.strictObject({
    worker: z.string(),
    epoch: z.int(),
    /** The owner before never gave the run back. */
    abandoned: z.literal(true).optional(),
    /** What `describe()` says now, where that differs from the start. */
    revision: z.string().optional(),
    /** Its workflow has an `onCancel`, which whoever started the run did not know. */
    onCancel: z.literal(true).optional(),
  }),
  /** `call`: the effect inside which it was started. */
  "run.spawned": z.strictObject({ run: z.string(), workflow: z.string(), call: id.optional() }),
  "run.asked": z.strictObject({ pending: id }),
  /** What it recorded and does not ask for again, by stretches of its order: from then on it goes on with other code. */
  "run.forked": z.strictObject({ left: z.array(z.tuple([z.int(), z.int()])) }),
  "run.parked": z.strictObject({
    pending: z.array(id),
    wakeAt: iso.optional(),
    /** Its code does not ask again for this recorded event: it waits for whoever says how it goes on. */
    diverged: z.strictObject({ event: id, step: z.int(), kind: z.string(), field: z.string() }).optional(),
  }),
  "run.ended": z.strictObject({
    status: z.enum(["done", "failed", "cancelled"]),
    result: place.optional(),
    message: z.string().optional(),
    code: z.string().optional(),
    reason: z.string().optional(),
  }),
} as const;
