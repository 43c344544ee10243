/** Whether a record is what was written, and whether the program still does what it recorded. */
import { z } from "@hono/zod-openapi";
import { eventResource } from "./event.ts";

const workflow = z.string().min(1).max(200).optional().describe("A workflow of this server. Left out: the one on record.");

export const replayAsked = z.strictObject({ from: z.number().int().min(1).optional(), workflow }).openapi("ReplayAsked");

/** What is executed again, from where. */
export type ReplayAsked = z.input<typeof replayAsked>;

export const replayReport = z
  .object({
    run: z.string(),
    workflow: z.string(),
    events: z.number().int(),
    identical: z.boolean(),
    steps: z.array(
      z.object({
        event: z.string(),
        session: z.string(),
        step: z.number().int(),
        kind: z.string(),
        result: z.enum(["same", "nested", "erased", "differs", "not-reached"]),
      }),
    ),
    renamed: z.array(z.object({ from: z.string(), to: z.string() })),
    at: eventResource.optional().describe("Of a divergence: the event, and the field that is another one now."),
    field: z.string().optional(),
    expected: z.unknown().optional(),
    got: z.unknown().optional(),
  })
  .openapi("ReplayReport");
/** Whether a program still does what it recorded. */
export type ReplayResource = z.infer<typeof replayReport>;

export const verifyAsked = z
  .strictObject({
    replay: z.boolean().optional().describe("Also execute the runs behind it again, against their record. Needs runs:write."),
    anchor: z
      .string()
      .max(1_000_000)
      .regex(/^\s*\{/, "is not a statement that verify returned")
      .optional()
      .describe("Statements that verify returned earlier, one a line."),
    keys: z.array(z.string().min(1).max(200)).max(100).optional(),
  })
  .openapi("VerifyAsked");

/** What is checked beside hashes. */
export type VerifyAsked = z.input<typeof verifyAsked>;

export const verification = z
  .object({
    ok: z.boolean(),
    problems: z.array(
      z.object({
        kind: z.string(),
        event: z.string(),
        session: z.string().optional(),
        step: z.number().int().optional(),
        field: z.string().optional(),
        problem: z.string(),
        means: z.string(),
        next: z.string(),
      }),
    ),
    unknownKeys: z.array(z.string()),
    events: z.number().int(),
    unsigned: z.number().int(),
    erased: z.number().int(),
    erasures: z.array(
      z.object({
        entry: z.string(),
        by: z.string(),
        at: z.string(),
        reason: z.string(),
        events: z.number().int(),
        contents: z.number().int(),
      }),
    ),
    checked: z.record(z.string(), z.number().int()),
    unchecked: z.array(z.object({ part: z.string(), count: z.number().int(), why: z.string() })),
    replays: z.array(replayReport),
    statement: z.string().optional(),
  })
  .openapi("Verification");
/** Whether a record is what was written. */
export type VerificationResource = z.infer<typeof verification>;

const event = z
  .string()
  .regex(/^[0-9a-fA-F]{64}$/)
  .toLowerCase();
const model = z.string().min(1).max(500).describe("A model of the workflow, or any other by its name.");
const instructions = z.string().max(1_000_000);

export const rerunAsked = z
  .strictObject({
    from: z.number().int().min(1).optional().describe("The step whose value is changed. Left out: the run's input."),
    change: z
      .union([
        z.strictObject({ message: z.string().min(1).max(1_000_000) }).describe("Another message of the user."),
        z
          .strictObject({
            event,
            output: z.unknown().refine((value) => value !== undefined, { message: "is missing" }),
          })
          .describe("Another result for one effect: the id of its call or its result."),
        z
          .strictObject({ event, model, instructions: instructions.optional() })
          .describe("From this model call on, another model for the agent that made it, and other instructions too if there are some."),
        z.strictObject({ event, instructions }).describe("From this model call on, other instructions for the agent that made it."),
      ])
      .optional(),
    effects: z.enum(["ask", "live"]).optional(),
    memory: z.enum(["recorded", "latest"]).optional(),
    workflow,
  })
  .openapi("RerunAsked");
/** What is executed otherwise, from where. */
export type RerunAsked = z.infer<typeof rerunAsked>;

/** A rerun that began. It goes on by itself on `session`; `diff` of the two says in the end what was reused. */
export const rerunBegun = z.object({ run: z.string(), session: z.string(), of: z.string() }).openapi("Rerun");
/** A rerun that began. */
export type RerunResource = z.infer<typeof rerunBegun>;
