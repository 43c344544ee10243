/** Runs as they are asked for and answered with. */
import { z } from "@hono/zod-openapi";
import { givenContent } from "./content.ts";
import { decimal, usually } from "./number.ts";
import { pageQuery } from "./page.ts";
import { pending } from "./pending.ts";
import { sessionId, sessionPlace } from "./place.ts";
import { name, sessionResource } from "./session.ts";
import { usage } from "./totals.ts";
import { workflowName } from "./workflow.ts";

/** Whole: runs are not found by the beginning of their ids. */
const runId = z
  .string()
  .min(1)
  .max(64)
  .regex(/^[0-9a-fA-F-]+$/, "is not an id")
  .toLowerCase();
export const ofRun = z.object({ run: runId });

const runStatus = z.enum(["queued", "running", "waiting", "done", "failed", "cancelled"]);

const duration = z
  .string()
  .max(32)
  .regex(/^\d{1,15}(\.\d{1,6})?(ms|s|m|h|d)$/, 'is not a duration like "30s" or "2d"');

const limits = z.strictObject({
  rounds: z.number().int().min(1).max(1_000_000).optional(),
  tokens: z.number().int().min(1).max(1e12).optional(),
  usd: z.number().min(0).max(1e9).optional(),
  time: duration.optional(),
});

/** Names that are kept: no NUL, and nothing that is half a character. */
const keptName = (longest: number) =>
  z
    .string()
    .min(1)
    .max(longest)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: this is what must not be in it
    .regex(/^[^\u0000]*$/, "has a NUL character");

export const runRequest = z
  .strictObject({
    workflow: workflowName,
    session: sessionPlace.optional().describe("What it works on; without one a new session is begun."),
    message: givenContent.optional().describe("Is said to the session before it starts."),
    title: name.optional().describe("Of the new session."),
    tags: z.array(name).max(50).optional().describe("Of the new session."),
    key: keptName(600).optional().describe("The same key and input give the same run; the header Idempotency-Key says the same."),
    priority: z.number().min(-1e9).max(1e9).optional().describe("Of several that wait for a worker the highest goes first."),
    deadline: z
      .union([duration, z.iso.datetime({ offset: true })])
      .optional()
      .describe("A time, or so long from now: it fails if it has not ended by then."),
    limits: limits.optional().describe("What may be spent by the run and everything under it."),
  })
  .refine(({ session, message }) => session !== undefined || message !== undefined, { message: "give a session, a message, or both" })
  .refine(({ session, title, tags }) => session === undefined || (title === undefined && tags === undefined), {
    message: "title and tags are of a new session: give them without one",
  })
  .openapi("RunRequest");
/** A run to start. */
export type RunRequest = z.input<typeof runRequest>;

export const runQuery = z.strictObject({
  ...pageQuery,
  status: runStatus.optional(),
  workflow: workflowName.optional(),
  session: sessionId.optional(),
  order: z.enum(["newest", "oldest"]).default("newest"),
});

const place = z.object({ session: z.string(), head: z.string() });

/** A run as lists have it. */
export const runResource = z
  .object({
    id: z.string(),
    workflow: z.string(),
    session: z.string().describe("The branch it continues: the one it was given, or the fork made because somebody else was writing it."),
    status: runStatus,
    key: z.string().optional(),
    priority: z.number().optional(),
    wakeAt: z.string().optional().describe("When it goes on by itself."),
    owner: z.string().optional().describe("The worker that holds it now."),
  })
  .openapi("Run");
/** A run as lists have it. */
export type RunResource = z.infer<typeof runResource>;

/** How a run came out, or how far it has come. */
export const runOutcome = z
  .object({
    status: runStatus,
    session: sessionResource.optional().describe("Where it stands; there is none before it was begun."),
    output: z.unknown().optional().describe("What it produced, when it is done."),
    pending: z.array(pending).optional().describe("What it waits for."),
    diverged: z
      .object({ event: z.string(), step: z.int(), kind: z.string(), field: z.string() })
      .optional()
      .describe("Its code does not ask again for this recorded event: it waits for whoever resumes it and says how."),
    error: z.object({ code: z.string(), message: z.string() }).optional().describe("Why it failed."),
    reason: z.string().optional().describe("Why it was cancelled."),
  })
  .openapi("RunOutcome");
/** How a run came out, or how far it has come. */
export type RunOutcome = z.infer<typeof runOutcome>;

/** One run with all that is said of it. */
export const runDetail = runResource
  .extend({
    input: place.describe("Where it began."),
    started: z.string(),
    ended: z.string().optional(),
    revision: z.string().optional(),
    deadline: z.string().optional(),
    limits: limits.optional(),
    parent: z.string().optional().describe("The run inside which it was started."),
    compensates: z.string().optional().describe("The cancelled run that it makes good."),
    children: z.array(z.object({ run: z.string(), workflow: z.string() })),
    takenUp: z
      .array(z.object({ at: z.string(), worker: z.string(), abandoned: z.literal(true).optional() }))
      .describe("Each time it was taken up again; abandoned: its worker before died."),
    cancel: z.object({ by: z.string(), at: z.string(), reason: z.string().optional() }).optional().describe("Who asked for its end."),
    usage: usage.optional().describe("Of everything behind where it stands."),
    outcome: runOutcome,
  })
  .openapi("RunDetail");
/** A run with all that is said of it. */
export type RunDetail = z.infer<typeof runDetail>;

export const cancelRequest = z.strictObject({ reason: z.string().min(1).max(10_000).optional() });

export const resumeRequest = z.strictObject({
  onDivergence: z
    .enum(["pause", "fork", "fail"])
    .optional()
    .describe("What to do when it does not ask again for what it recorded: it is executed in this server then."),
});

export const signalRequest = z
  .strictObject({
    signal: keptName(200).describe("The name that `session.receive` waits for."),
    data: z.unknown().optional(),
    key: keptName(200).optional().describe("Sent again with the same key it is one signal."),
  })
  .openapi("Signal");
/** A signal to a run. */
export type SignalRequest = z.input<typeof signalRequest>;

export const resultQuery = z.strictObject({
  wait: usually(decimal(0, 30), 0).describe("Seconds to wait for it."),
  until: z
    .enum(["ended", "settled"])
    .default("ended")
    .describe("What is waited for: its end, or also that it waits for a person or a time."),
});
