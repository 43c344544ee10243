/** What waits for people, and what they say about it. */
import { z } from "@hono/zod-openapi";
import { pageQuery } from "./page.ts";
import { eventId, sessionId, sessionPlace } from "./place.ts";

/** The id of the event that asked. */
export const ofPending = z.object({ pending: eventId });

const jsonSchema = z.record(z.string(), z.unknown());

const base = {
  id: z.string(),
  run: z.string().optional(),
  session: z.string(),
  since: z.string(),
  by: z.string().describe("Who asks: the path of the agent or workflow."),
};

const expires = z.string().optional();

export const pending = z
  .discriminatedUnion("kind", [
    z.object({
      ...base,
      kind: z.literal("question"),
      question: z.string(),
      answer: jsonSchema.describe("JSON Schema of the answer."),
      to: z.string().optional().describe('Who is asked: "role:approver" or "human:ada".'),
      expires,
    }),
    z.object({ ...base, kind: z.literal("approval"), tool: z.string(), input: z.unknown().optional(), expires }),
    z.object({ ...base, kind: z.literal("unknown"), op: z.string(), input: z.unknown().optional() }),
    z.object({ ...base, kind: z.literal("timer"), wakes: z.string() }),
    z.object({ ...base, kind: z.literal("signal"), signal: z.string(), expires }),
    z.object({ ...base, kind: z.literal("process"), process: z.string(), command: z.string() }),
  ])
  .openapi("Pending");
/** Something that waits for a person, a time or a signal. */
export type PendingResource = z.infer<typeof pending>;

const pendingKind = z.enum(["question", "approval", "unknown", "timer", "signal", "process"]);

export const pendingQuery = z.strictObject({
  ...pageQuery,
  run: sessionId.optional(),
  session: sessionId.optional().describe("What waits in it, or in a run that works on it, on whichever branch."),
  kind: pendingKind.optional(),
  to: z
    .string()
    .min(1)
    .max(500)
    .optional()
    .describe('Questions addressed to this one, like "role:approver"; "me": whatever the caller may decide.'),
});

const outcome = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("ok"), value: z.unknown().optional() }),
  z.strictObject({ type: z.literal("error"), message: z.string().max(100_000) }),
  z.strictObject({ type: z.literal("denied"), reason: z.string().max(100_000) }),
  z.strictObject({ type: z.literal("cancelled"), reason: z.string().max(100_000) }),
  z.strictObject({ type: z.literal("expired") }),
]);

/** Who decides is never said here: it is whoever the key belongs to. */
export const decisionRequest = z
  .strictObject({
    approve: z.boolean().optional().describe("Of an approval."),
    input: z.unknown().optional().describe("What is approved instead of what was asked."),
    answer: z.unknown().optional().describe("Of a question: what fits its schema."),
    outcome: z
      .union([z.literal("run-again"), outcome])
      .optional()
      .describe("What became of an effect whose outcome is unknown."),
    reason: z.string().max(100_000).optional(),
  })
  .refine((said) => ["approve", "answer", "outcome"].filter((field) => Object.hasOwn(said, field)).length === 1, {
    message: "give one of approve, answer and outcome",
  })
  .openapi("Decision");
/** A decision: an approval, an answer, or what became of an effect. */
export type DecisionRequest = z.input<typeof decisionRequest>;

/** What was decided, by whom, when and why. Nobody has where there is no `by`. */
export const decided = z
  .object({
    pending,
    id: z.string().optional().describe("The event that holds the decision."),
    by: z.string().optional(),
    at: z.string().optional(),
    reason: z.string().optional(),
    answer: z.unknown().optional(),
    approve: z.boolean().optional(),
    input: z.unknown().optional(),
    outcome: z.unknown().optional(),
    expired: z.literal(true).optional(),
  })
  .openapi("Decided");
/** What was decided, by whom, when and why. */
export type DecidedResource = z.infer<typeof decided>;

/** One thing that waits or waited, with everything whoever decides needs to know. */
export const pendingDetail = z
  .object({
    pending,
    waits: z.boolean().describe("Whether it still does: it was not decided, has no result and is not over."),
    decidable: z.boolean().describe("Whether this caller may decide it now."),
    schema: jsonSchema.optional().describe("JSON Schema of the input that an approval is for."),
    call: z.record(z.string(), z.unknown()).describe("The event that asked, as it is on record."),
    decision: decided.optional().describe("What was decided, if something was."),
  })
  .openapi("PendingDetail");
/** What waits, with all that whoever decides needs to know. */
export type PendingDetail = z.infer<typeof pendingDetail>;

export const decisionsQuery = z.strictObject({
  ...pageQuery,
  session: sessionPlace.optional().describe("Left out: of the whole project, the newest first."),
});
